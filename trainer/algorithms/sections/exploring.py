"""What algorithms can be told that explore by a part of random actions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from ....shared import Metric
from ...config.section import AlgorithmSection, Fraction

if TYPE_CHECKING:
    from ...config import TrainConfig

EPSILON = Metric("exploration/epsilon", description="part of random actions")


class EpsilonGreedyConfig(AlgorithmSection):
    """The part falls linearly over the first of the run, and then stays."""

    epsilon_start: Fraction = Field(1.0, description="part of random actions at the start; 0 to 1")
    epsilon_end: Fraction = Field(0.05, description="part of random actions in the end; 0 to 1")
    epsilon_fraction: float = Field(
        0.5, gt=0, le=1, description="part of the run over which epsilon falls; over 0 to 1"
    )

    def ignored_keys(self, config: TrainConfig) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(config)
        name = config.algorithm
        if self.epsilon_start == self.epsilon_end:
            reason = f"{name}.epsilon_start and {name}.epsilon_end are both {self.epsilon_end:g}"
            yield f"{name}.epsilon_fraction", reason
