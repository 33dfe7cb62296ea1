"""A trial that is under way: which seeds it still has to train, its runs, and how it compares."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from optuna.trial import Trial

from ...shared.run_folder import make_run_id
from .definition import Definition
from .parameters import Value
from .scores import mean_scores, scores_of
from .trial_run import TrialRun

RUNS, SCORES, MESSAGE = "runs", "scores", "message"  # attributes of a trial in the journal


class OpenTrial:
    """All that must outlive a sweeper is in the journal before it is done: a run's id before there
    is the run, a seed's scores before its trial is told.
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
        besides = {"sweep": {"name": self._sweep, "trial": self.number}}
        self.active[seed] = TrialRun.begin(
            self._definition.source, overrides, name, run_id, besides
        )

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
