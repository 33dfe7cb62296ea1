"""Settings that a run would ignore whatever its algorithm; `Section.check` knows of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..envs import CONFIGURED_ENV_NAMES, LEARNED_ENV_NAMES, is_hosted, num_agents_of
from .inspection import EpisodesConfig

if TYPE_CHECKING:
    from .train_config import TrainConfig


def refusals(config: TrainConfig) -> Iterator[str]:
    """A line for each of them: the key, its value and what is allowed."""
    if config.rollout == "fused":
        yield from _of_fused_rollouts(config)
    if config.device == "cuda" and config.num_threads:
        yield f"num_threads = {config.num_threads} is for the processor, and device = cuda"
    for key in ("keep", "max_steps"):
        value, default = (getattr(one, key) for one in (config.episodes, EpisodesConfig()))
        if value != default and not config.episodes.is_on:
            yield f"episodes.{key} = {value}: no interval of episodes is set"
    if not config.recorder.on and config.recorder.to:
        names = ",".join(config.recorder.to)
        yield f"recorder.to = {names}: it is the recorder that sends there, and recorder.on = false"


def agents_may_be_on_a_gpu(config: TrainConfig) -> bool:
    """Whether all rows of rollouts can be there: where agents retire, their number is not known to
    the host, which what learns from replay, and normalises no observations, need not ask for.
    """
    learns_from_replay = "replay" in config.algorithm_section.tables
    return num_agents_of(config) == 1 or (learns_from_replay and not config.normalization.obs)


def _of_fused_rollouts(config: TrainConfig) -> Iterator[str]:
    is_alone = num_agents_of(config) == 1
    has_world = config.env in CONFIGURED_ENV_NAMES and is_alone  # that all its episodes read
    if config.env in LEARNED_ENV_NAMES or is_hosted(config.env) or has_world:
        yield f"rollout = fused: {config.env} takes its steps one by one; use steps"
    if not is_alone:
        yield f"rollout = fused: {config.env} has several agents an environment; use steps"
    if config.device == "cpu":
        yield "rollout = fused is for a GPU, and device = cpu; use steps"
    if config.policy.precision != "float32":
        yield (
            "rollout = fused: it computes in float32, and policy.precision = "
            f"{config.policy.precision}; use steps"
        )
