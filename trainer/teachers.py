"""Policies that others learn from: of runs, or of single checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..shared.errors import ConfigError, OperantError
from ..shared.find_runs import find_run
from .algorithms.acting_teachers import Teacher
from .config import TrainConfig
from .envs import spec_of
from .networks.actor_critic import ActorCritic
from .networks.recurrent_actor_critic import RecurrentActorCritic
from .run.checkpoints import load_checkpoint
from .trained_policy import TrainedPolicy, load_trained, trained_in


def load_teachers(config: TrainConfig, names: Sequence[str]) -> list[Teacher]:
    """Those of `kickstart.teachers`, on the processor, with nothing left to learn. Raises
    ConfigError where one cannot be read, or has other observations or actions.
    """
    return [load_teacher(config, name) for name in names]


def load_teacher(config: TrainConfig, name: str) -> Teacher:
    where = f"kickstart.teachers: '{name}'"
    try:
        trained = _trained(name)
    except OperantError as error:
        raise ConfigError(f"{where}: {error}") from None
    policy = trained.policy
    if not isinstance(policy, ActorCritic | RecurrentActorCritic):
        raise ConfigError(f"{where} learned by {trained.config.algorithm}; teachers are PPO's")
    spec = spec_of(config)
    if policy.obs_size != spec.obs_size:
        raise ConfigError(
            f"{where} sees {policy.obs_size} numbers, and {config.env} shows {spec.obs_size}"
        )
    theirs = spec_of(trained.config).actions, trained.config.policy.distribution
    if theirs != (spec.actions, config.policy.distribution):
        raise ConfigError(
            f"{where} has actions of another kind: {theirs[0]}, policy.distribution = {theirs[1]}"
        )
    policy.requires_grad_(False)
    return policy


def _trained(name: str) -> TrainedPolicy:
    if name.endswith(".pt"):
        return trained_in(load_checkpoint(Path(name)))
    return load_trained(find_run(name))
