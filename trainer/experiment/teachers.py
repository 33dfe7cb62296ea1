"""Policies that others learn from: of runs, or of single checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...shared.errors import ConfigError, OperantError
from ...shared.runs.find_runs import find_run
from ..algorithms.algorithm import Options
from ..algorithms.auxiliary import Teacher, make_auxiliary_losses
from ..config import TrainConfig
from ..envs.hosts import AnySpec
from ..policies.actor_critic import ActorCritic
from ..policies.recurrent_actor_critic import RecurrentActorCritic
from .checkpoints import load_checkpoint
from .trained_policy import TrainedPolicy, load_trained, trained_in
from .untrained import learner_settings


def auxiliary_losses(
    config: TrainConfig, spec: AnySpec, policy: Any, options: Options
) -> dict[str, Any]:
    """Argument `auxiliary_losses` for PPO, else none; `options` are its other arguments. Raises
    ConfigError.
    """
    if config.base_algorithm != "ppo":
        return {}
    teachers = teachers_of(config, spec)
    losses = make_auxiliary_losses(learner_settings(config), policy, teachers, **options)
    return {"auxiliary_losses": losses}


def teachers_of(config: TrainConfig, spec: AnySpec) -> list[Teacher]:
    """The policies of `kickstart.teachers`, on the processor, with nothing left to learn. Raises
    ConfigError where one cannot be read, or has other observations or actions than `spec`.
    """
    return [load_teacher(config, spec, name) for name in config.table("kickstart").teachers]


def load_teacher(config: TrainConfig, spec: AnySpec, name: str) -> Teacher:
    where = f"kickstart.teachers: '{name}'"
    try:
        trained = _trained(name)
    except OperantError as error:
        raise ConfigError(f"{where}: {error}") from None
    policy = trained.policy
    if not isinstance(policy, ActorCritic | RecurrentActorCritic):
        raise ConfigError(f"{where} learned by {trained.config.algorithm}; teachers are PPO's")
    if policy.obs_size != spec.obs_size:
        raise ConfigError(
            f"{where} sees {policy.obs_size} numbers, and {config.env} shows {spec.obs_size}"
        )
    theirs = trained.spec.actions, trained.config.policy.distribution
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
