"""Untrained policies, and the seeds of the parts that draw random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ..algorithms import algorithm_class
from ..algorithms.algorithm import LearnerSettings
from ..config import TrainConfig
from ..envs.hosts import AnySpec, describe
from ..policies.policy import Policy

SEEDED_PARTS = ("policy", "learner", "collector")


def make_policy(config: TrainConfig, spec: AnySpec | None = None) -> Policy:
    """The policy of a configuration, its weights drawn from the seed; `spec` describes the
    environment, by default the one of the configuration.
    """
    learner = algorithm_class(config.algorithm)
    settings, seed = learner_settings(config), part_seed(config, "policy")
    policy: Policy = learner.make_policy(settings, spec or describe(config), seed)
    return policy


def learner_settings(config: TrainConfig) -> LearnerSettings:
    """The settings that the algorithm and the policy of a configuration use."""
    section = config.algorithm_section
    return LearnerSettings(
        config.base_algorithm, section, {name: config.table(name) for name in section.tables},
        config.policy, config.normalization, config.seed, config.num_rows, config.rollout_steps,
        config.compile, config.overlap, config.checkpoint.replay,
    )  # fmt: skip


def part_seed(config: TrainConfig, part: str, parts: Sequence[str] = SEEDED_PARTS) -> int:
    """The seed of one of the `parts` that draw random numbers; no two parts or runs share one."""
    return len(parts) * config.seed + parts.index(part)
