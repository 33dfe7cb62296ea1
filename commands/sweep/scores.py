"""What a trial's runs gave, from the rows that they logged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...shared.errors import PageError
from ...shared.run_folder import Run
from ...shared.sweep_table import SweepObjective
from ...trainer.run.stopwatch import OTHER, PAUSES, PHASES
from ..bench.trials import Series, columns_of, mean_up_to
from .definition import SECONDS

TRAINING = [f"time/{phase}_s" for phase in (*PHASES, OTHER) if phase not in PAUSES]


@dataclass(frozen=True)
class Scores:
    """The rows of a run, as far as a sweep wants to know them."""

    env_steps: Series
    columns: dict[str, Series]

    def at(self, metric: str, env_steps: float) -> float:
        """The mean of the last tenth before that many env steps; the newest value where there is
        none in it, NaN where there never was one.
        """
        column = self.columns.get(metric)
        return math.nan if column is None else mean_up_to(self.env_steps, column, env_steps)

    def last(self, objective: SweepObjective) -> float:
        """What the whole run gave."""
        if objective.metric == SECONDS:
            return self.seconds()
        return (
            self.at(objective.metric, float(self.env_steps[-1]))
            if len(self.env_steps)
            else math.nan
        )

    def seconds(self) -> float:
        """Of training: no evaluation, no saving, and not the first iteration, which compiles."""
        known = [self.columns[name] for name in TRAINING if name in self.columns]
        is_iteration = ~np.isnan(self.columns.get("time/learn_s", np.zeros(0)))
        if is_iteration.sum() < 2:
            return math.nan
        return float(sum(np.nansum(column[is_iteration][1:]) for column in known))


def scores_of(run: Run, objectives: Iterable[SweepObjective]) -> Scores:
    """Empty where nothing of the run can be read."""
    wanted = {objective.metric for objective in objectives}
    if SECONDS in wanted:
        wanted |= {*TRAINING}
    try:
        columns = columns_of(run, wanted)
    except (PageError, OSError):
        columns = {}
    return Scores(columns.get("env_steps", np.zeros(0)), columns)


def mean_scores(scores: Sequence[Sequence[float]]) -> list[float]:
    """The mean over seeds, objective by objective."""
    return [sum(each) / len(each) for each in zip(*scores, strict=True)]
