"""The settings of epsilon-greedy exploration."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import AlgorithmSection, Fraction

EPSILON = Metric("exploration/epsilon", description="part of random actions")


class EpsilonGreedyConfig(AlgorithmSection):
    """The part falls linearly over the first of the run, and then stays."""

    epsilon_start: Fraction = Field(1.0, description="initial fraction of random actions; 0 to 1")
    epsilon_end: Fraction = Field(0.05, description="final fraction of random actions; 0 to 1")
    epsilon_fraction: float = Field(
        0.5, gt=0, le=1, description="fraction of the run over which it falls; above 0, up to 1"
    )

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(facts)
        name = facts.algorithm_table
        if self.epsilon_start == self.epsilon_end:
            reason = f"{name}.epsilon_start and {name}.epsilon_end are both {self.epsilon_end:g}"
            yield f"{name}.epsilon_fraction", reason
