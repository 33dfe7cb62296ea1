"""The results of a sweep as a file, which the sweep writes and others read without Optuna."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from .status import json_value

TrialState = Literal["waiting", "running", "finished", "pruned", "failed"]
ENDED = ("finished", "pruned", "failed")
_RUN_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")  # as `make_run_id` has it: no way elsewhere


@dataclass(frozen=True)
class SweepObjective:
    """An objective of a sweep: a metric, and whether higher is better."""

    metric: str
    is_maximized: bool

    @property
    def option(self) -> str:
        """The option on the command line that asks for it."""
        return f"--objective {'max' if self.is_maximized else 'min'}:{self.metric}"


@dataclass(frozen=True)
class SweepTrial:
    """A trial: its values, what it gave and its runs. `scores` has one number for each objective,
    the mean of its seeds; None while it has none. Of one that was pruned it is the last one known.
    `latest` is the newest value of a trial that goes on, `done` how far it is, 0 to 1.
    """

    number: int
    state: TrialState
    values: Mapping[str, Any]
    scores: tuple[float, ...] | None = None
    is_best: bool = False
    latest: float | None = None
    done: float = 0.0
    runs: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True)
class SweepTable:
    """All trials, by number. `parameters` says in words what each key ranges over; `importances`
    what share of an objective each key explains, by the objective's metric.
    """

    name: str
    config: str
    objectives: tuple[SweepObjective, ...]
    parameters: Mapping[str, str]
    num_wanted: int
    parallel: int
    num_seeds: int
    trials: tuple[SweepTrial, ...] = ()
    importances: Mapping[str, Mapping[str, float]] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do."""
        num_ended = sum(trial.state in ENDED for trial in self.trials)
        return num_ended >= max(self.num_wanted, len(self.trials))

    def count(self, *states: TrialState) -> int:
        return sum(trial.state in states for trial in self.trials)

    def best(self) -> list[SweepTrial]:
        """The best trial, or the Pareto front of several objectives."""
        return [trial for trial in self.trials if trial.is_best]

    def by_importance(self) -> list[str]:
        """The keys, those that matter most for the first objective first."""
        known = (self.importances or {}).get(self.objectives[0].metric, {})
        return sorted(self.parameters, key=lambda key: -known.get(key, 0.0))

    def as_json(self) -> dict[str, Any]:
        """For `json.dumps`; numbers that JSON has none for are None."""
        fields = asdict(self)
        for trial in fields["trials"]:
            if trial["scores"] is not None:
                trial["scores"] = [json_value(score) for score in trial["scores"]]
            trial["latest"] = json_value(trial["latest"])
            trial["values"] = json_value(trial["values"])
        return fields

    @classmethod
    def of_json(cls, value: Any) -> SweepTable:
        """Raises ValueError where `value` is no such table."""
        try:
            objectives = tuple(SweepObjective(**one) for one in value["objectives"])
            trials = tuple(_trial(**one) for one in value["trials"])
            return cls(**{**value, "objectives": objectives, "trials": trials})
        except (KeyError, TypeError) as error:
            raise ValueError(f"it is no sweep's table ({type(error).__name__}: {error})") from None


def front(scores: Sequence[Sequence[float]], is_maximized: Sequence[bool]) -> list[bool]:
    """Whether each of several scores is on the Pareto front: no other is as good in every objective
    and better in one. With one objective these are the best.
    """
    signs = [1.0 if is_up else -1.0 for is_up in is_maximized]
    points = [tuple(s * x for s, x in zip(signs, score, strict=True)) for score in scores]
    # From the greatest on, a point is dominated by one of the front so far, or by none.
    found: list[tuple[float, ...]] = []
    for point in sorted(set(points), reverse=True):
        if not any(_is_as_good(other, point) for other in found):
            found.append(point)
    best = set(found)
    return [point in best for point in points]


def with_best(
    trials: Iterable[SweepTrial], objectives: Sequence[SweepObjective]
) -> tuple[SweepTrial, ...]:
    """The trials, those on the front marked; only finished ones are."""
    known = list(trials)
    places = [place for place, t in enumerate(known) if t.state == "finished" and t.scores]
    marks = front([known[p].scores or () for p in places], [o.is_maximized for o in objectives])
    best = {place for place, is_best in zip(places, marks, strict=True) if is_best}
    return tuple(replace(trial, is_best=place in best) for place, trial in enumerate(known))


def _is_as_good(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a >= b for a, b in zip(one, other, strict=True))


def _trial(scores: Sequence[float | None] | None, runs: Iterable[str], **fields: Any) -> SweepTrial:
    known = None if scores is None else tuple(math.nan if x is None else x for x in scores)
    return SweepTrial(scores=known, runs=tuple(filter(_RUN_ID.fullmatch, runs)), **fields)
