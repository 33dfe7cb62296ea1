"""What trials of several sides say: medians, and scores where the sides can be compared."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..helpers.trial_run import mean_up_to
from .trials import Side, Trial

CURVE_POINTS = 200


def compared(sides: Sequence[Side], trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A result for each side, as JSON. Scores are compared after as many env steps as all runs
    made, and after as many seconds of training as all runs took.
    """
    whole = [trial for trial in trials if not trial.failure]
    steps = min((trial.curve.env_steps[-1] for trial in whole), default=0.0)
    seconds = min((trial.curve.train_s[-1] for trial in whole), default=0.0)
    return [_result(side, trials, steps, seconds) for side in sides]


def _result(side: Side, trials: Sequence[Trial], steps: float, seconds: float) -> dict[str, Any]:
    own = [trial for trial in trials if trial.side == side.name]
    whole = [trial for trial in own if not trial.failure]

    def of(value: Callable[[Trial], float]) -> dict[str, float] | None:
        return spread(map(value, whole))

    total_s = sum(trial.curve.train_s[-1] for trial in whole)
    phases = {name for trial in whole for name in trial.phases}
    return {
        "name": side.name,
        "config": side.source,
        "overrides": list(side.overrides),
        "env_steps_per_s": of(lambda trial: trial.env_steps_per_s),
        "train_s": of(lambda trial: trial.curve.train_s[-1]),
        "score_at_equal_env_steps": of(
            lambda t: mean_up_to(t.curve.env_steps, t.curve.score, steps)
        ),
        "score_at_equal_time": of(lambda t: mean_up_to(t.curve.train_s, t.curve.score, seconds)),
        "evaluation": of(lambda trial: trial.evaluation),
        "startup_s": of(lambda trial: trial.startup_s),
        "peak_bytes": max((trial.peak_bytes for trial in whole), default=None),
        "phase_fractions": {
            name: sum(trial.phases.get(name, 0.0) for trial in whole) / total_s
            for name in sorted(phases)
        },
        "runs": [trial.run for trial in own if trial.run],
        "failures": [trial.failure for trial in own if trial.failure],
        "curves": [curve_points(trial) for trial in whole],
    }


def spread(values: Iterable[float]) -> dict[str, float] | None:
    """Median, lowest and highest of the finite values; None if there are none."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    return {"median": statistics.median(known), "min": min(known), "max": max(known)}


def curve_points(trial: Trial) -> dict[str, Any]:
    """A curve, its rows without a score left out, as means of at most `CURVE_POINTS` pieces."""
    curve = trial.curve
    known = np.isfinite(curve.score)
    columns = (curve.env_steps[known], curve.train_s[known], curve.score[known])
    pieces = [np.array_split(x, min(len(x), CURVE_POINTS) or 1) for x in columns]
    means = [[float(piece.mean()) for piece in each if len(piece)] for each in pieces]
    names = ("env_steps", "train_s", "score")
    return {"seed": trial.seed, **dict(zip(names, means, strict=True))}
