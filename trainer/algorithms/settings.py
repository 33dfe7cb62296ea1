"""The settings of a run that its algorithm and its policy use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config.tables import NormalizationConfig
from ..settings.policy import PolicyConfig
from ..settings.section import Section


@dataclass(frozen=True)
class LearnerSettings:
    """`section` holds the algorithm's own settings. `tables` holds the other tables that it brings,
    by name, such as `replay`. `num_rows` counts environments, or agents where an environment has
    several.
    """

    algorithm: str
    section: Any
    tables: Mapping[str, Section]
    policy: PolicyConfig
    normalization: NormalizationConfig
    seed: int
    num_rows: int
    rollout_steps: int
    compile: bool
    overlap: bool
    saves_replay: bool

    @property
    def rollout_size(self) -> int:
        """Env steps of one iteration, over all rows."""
        return self.num_rows * self.rollout_steps

    @property
    def part_steps(self) -> int:
        """Env steps per part that on-policy minibatches are drawn from: 1 for samples, the length
        of rows with a recurrent policy.
        """
        memory = self.policy.memory
        return (memory.horizon or self.rollout_steps) if memory.is_on else 1

    def table(self, name: str) -> Any:
        return self.tables[name]
