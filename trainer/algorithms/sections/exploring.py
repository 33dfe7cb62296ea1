"""What algorithms can be told that explore by a part of random actions."""

from __future__ import annotations

from pydantic import Field

from ....shared import Metric
from ...config.section import AlgorithmSection, Fraction

EPSILON = Metric("exploration/epsilon", description="part of random actions")


class EpsilonGreedyConfig(AlgorithmSection):
    """The part falls linearly over the first of the run, and then stays."""

    epsilon_start: Fraction = Field(1.0, description="part of random actions at the start; 0 to 1")
    epsilon_end: Fraction = Field(0.05, description="part of random actions in the end; 0 to 1")
    epsilon_fraction: float = Field(
        0.5, gt=0, le=1, description="part of the run over which epsilon falls; over 0 to 1"
    )
