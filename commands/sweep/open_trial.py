"""A trial that is under way: which seeds it still has to train, its runs, and how it compares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from optuna.trial import Trial

from ...monitor.export.frame import columns_of
from ...shared.errors import PageError
from ...shared.rows.row_batch import Floats
from ...shared.runs.run_folder import Run, make_run_id
from ...shared.runs.sweep_table import SweepObjective
from .definition import SECONDS, Definition
from .parameters import Value
from .trial_run import TrialRun

# Attributes of a trial in the journal.
RUNS, SCORES, MESSAGE, MACHINE = "runs", "scores", "message", "machine"
LEARNING = "time/learn_s"  # only the rows of iterations have this metric
PAUSES = ("time/evaluate_s", "time/checkpoint_s")  # phases in which nothing is trained


@dataclass(frozen=True)
class Scores:
    """The rows of a run, as far as a sweep wants to know them."""

    env_steps: Floats
    columns: dict[str, Floats]

    def at(self, metric: str, env_steps: float) -> float:
        """The mean of the last tenth before that many env steps; the newest value where there is
        none in it, NaN where there never was one.
        """
        column = self.columns.get(metric)
        return math.nan if column is None else mean_up_to(self.env_steps, column, env_steps)

    def last(self, objective: SweepObjective) -> float:
        """The value of the objective over the whole run."""
        if objective.metric == SECONDS:
            return self.seconds()
        return (
            self.at(objective.metric, float(self.env_steps[-1]))
            if len(self.env_steps)
            else math.nan
        )

    def seconds(self) -> float:
        """Seconds of training: no evaluations, no saving, no first iteration, which compiles."""
        iterations = np.flatnonzero(~np.isnan(self.columns.get(LEARNING, np.zeros(0))))
        if len(iterations) < 2:
            return math.nan
        elapsed_s = self.columns["elapsed_s"][iterations]
        pauses = [self.columns[name][iterations[1:]] for name in PAUSES if name in self.columns]
        return float(elapsed_s[-1] - elapsed_s[0] - sum(map(np.nansum, pauses)))


def mean_up_to(place: Floats, score: Floats, end: float) -> float:
    """The mean of the scores in the last tenth before `end` along `place`, both [R]. If there are
    none, the newest score before it; NaN if there is no score at all.
    """
    known = (place <= end) & ~np.isnan(score)
    among = known & (place > 0.9 * end)
    if among.any():
        return float(score[among].mean())
    return float(score[known][-1]) if known.any() else math.nan


def scores_of(run: Run, objectives: Iterable[SweepObjective]) -> Scores:
    """Empty where nothing of the run can be read."""
    wanted = {objective.metric for objective in objectives}
    if SECONDS in wanted:
        wanted |= {LEARNING, *PAUSES}
    try:
        columns = columns_of(run, wanted)
    except (PageError, OSError):
        columns = {}
    return Scores(columns.get("env_steps", np.zeros(0)), columns)


def mean_scores(scores: Sequence[Sequence[float]]) -> list[float]:
    """The mean over seeds, objective by objective."""
    return [sum(each) / len(each) for each in zip(*scores, strict=True)]


class OpenTrial:
    """A trial whose runs go on. The journal gets everything that must outlive the sweeper before it
    happens: a run's id before the run exists, a seed's scores before its trial is reported.
    """

    def __init__(self, trial: Trial, definition: Definition, sweep_name: str) -> None:
        self.trial, self._definition, self._sweep = trial, definition, sweep_name
        self.values: dict[str, Value] = dict(trial.params)
        self.run_ids: dict[str, str] = dict(trial.user_attrs.get(RUNS, {}))
        self._scores: dict[str, list[float]] = dict(trial.user_attrs.get(SCORES, {}))
        self.active: dict[int, TrialRun] = {}
        self.is_told = False
        marks = trial.storage.get_trial(trial._trial_id).intermediate_values
        self._last_mark = max(marks, default=0) // definition.mark_env_steps
        self.latest = marks[max(marks)] if marks else None

    @property
    def number(self) -> int:
        return self.trial.number

    def waiting_seeds(self) -> Iterator[int]:
        """Seeds that have no scores and do not train."""
        for seed in self._definition.seeds:
            if str(seed) not in self._scores and seed not in self.active:
                yield seed

    def begin(self, seed: int) -> None:
        """Begin its run. Raises UsageErrors: ConfigError where the values do not go together."""
        name = f"{self._sweep}-{self.number}"
        if self._definition.num_seeds > 1:
            name += f"-s{seed}"
        run_id = make_run_id(name)
        self.know_run(seed, run_id)
        overrides = (*self._definition.overrides_of(self.values), f"seed={seed}")
        more = {"sweep": {"name": self._sweep, "trial": self.number}}
        self.active[seed] = TrialRun.begin(self._definition.source, overrides, name, run_id, more)

    def know_run(self, seed: int, run_id: str) -> None:
        self.run_ids[str(seed)] = run_id
        self.trial.set_user_attr(RUNS, self.run_ids)

    def take_scores(self, seed: int) -> str:
        """Read what the finished run of a seed gave; returns what it lacks, or nothing."""
        objectives = self._definition.objectives
        found = scores_of(self.active[seed].run, objectives)
        scores = [found.last(objective) for objective in objectives]
        for objective, score in zip(objectives, scores, strict=True):
            if not math.isfinite(score):
                what = "was never written" if math.isnan(score) else f"is {score}"
                return f"{objective.metric} {what}"
        self._scores[str(seed)] = scores
        self.trial.set_user_attr(SCORES, self._scores)
        return ""

    def scores(self) -> list[float] | None:
        """The mean of all seeds, once all have trained."""
        if len(self._scores) < self._definition.num_seeds:
            return None
        return mean_scores([self._scores[str(seed)] for seed in self._definition.seeds])

    def done(self, progress: Mapping[int, float]) -> float:
        """How far all its seeds are, given how far each is that trains."""
        return (len(self._scores) + sum(progress.values())) / self._definition.num_seeds

    def reaches_mark(self, env_steps: int) -> bool:
        """Whether its first seed has come so far that it can be compared anew."""
        return env_steps // self._definition.mark_env_steps > self._last_mark

    def report(self, run: TrialRun, env_steps: int) -> bool:
        """Write down the objective at every mark since the last; returns whether the trial is worse
        there than the median of the others. Trials are compared by their first seed.
        """
        every, metric = self._definition.mark_env_steps, self._definition.objectives[0].metric
        found, is_worse = scores_of(run.run, self._definition.objectives), False
        for mark in range(self._last_mark + 1, env_steps // every + 1):
            value = found.at(metric, mark * every)
            if math.isfinite(value):
                self.trial.report(value, mark * every)
                self.latest = value
                # Of a fast run, several marks have passed since the last look.
                is_worse = is_worse or self.trial.should_prune()
        self._last_mark = env_steps // every
        return is_worse
