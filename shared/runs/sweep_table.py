"""The results of a sweep as a file, which the sweep writes and others read without Optuna."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from .status import json_value

TrialState = Literal["waiting", "running", "finished", "pruned", "failed"]
TRIAL_STATES: tuple[TrialState, ...] = ("waiting", "running", "finished", "pruned", "failed")
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
            return _table(value)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
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


def _table(value: Any) -> SweepTable:
    parameters = {str(key): str(words) for key, words in value["parameters"].items()}
    importances = value.get("importances") or {}
    objectives = tuple(
        SweepObjective(str(one["metric"]), bool(one["is_maximized"])) for one in value["objectives"]
    )
    if not objectives:
        raise ValueError("it has no objective")
    if not parameters:
        raise ValueError("it has no parameter")
    return SweepTable(
        name=str(value["name"]),
        config=str(value["config"]),
        objectives=objectives,
        parameters=parameters,
        num_wanted=int(value["num_wanted"]),
        parallel=int(value["parallel"]),
        num_seeds=int(value["num_seeds"]),
        trials=tuple(_trial(trial, len(objectives)) for trial in value["trials"]),
        importances={
            str(metric): {
                str(key): float(share) for key, share in shares.items() if _is_finite(share)
            }
            for metric, shares in importances.items()
        },
    )


def _trial(value: Any, num_objectives: int) -> SweepTrial:
    state, scores = value["state"], value.get("scores")
    if state not in TRIAL_STATES:
        raise ValueError(f"{state} is not a state of a trial")
    if scores is not None and len(scores) != num_objectives:
        raise ValueError(f"a trial has {len(scores)} scores, for {num_objectives} objectives")
    latest = value.get("latest")
    return SweepTrial(
        number=int(value["number"]),
        state=state,
        values={str(key): _plain(item) for key, item in value["values"].items()},
        scores=None if scores is None else tuple(_number(score) for score in scores),
        is_best=bool(value.get("is_best")),
        latest=None if latest is None else _number(latest),
        done=_share(value.get("done")),
        runs=tuple(filter(_RUN_ID.fullmatch, map(str, value.get("runs", ())))),
        message=str(value.get("message", "")),
    )


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _is_finite(value: Any) -> bool:
    return math.isfinite(_number(value))


def _share(value: Any) -> float:
    return min(max(float(value), 0.0), 1.0) if _is_finite(value) else 0.0


def _plain(value: Any) -> Any:
    """A parameter has one value, and no list or table of them."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
