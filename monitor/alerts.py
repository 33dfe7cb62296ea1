"""What deserves a look in a run, found in its history alone: pure functions, nothing remembered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..shared import History, Metric
from ..shared.status import ENV_STEPS_PER_S
from .canvas import Integers
from .chart_choice import is_charted
from .curves import Flags, Floats
from .formatting import format_duration, format_si, format_value

ENTROPY, KL = "policy/entropy", "policy/approx_kl"

_MOST_OF_A_KIND = 3  # the newest: what happens all the time is not worth a line each
_ENOUGH = 20  # points before a run is told to be unlike itself
_IN_A_ROW = 3  # points that a fall must last
_STILL_S = 60.0
_SLOW = 0.5  # of its own median
_COLLAPSED = 0.05  # of the entropy at the start
_KL_SPIKE, _KL_AT_LEAST = 8.0, 0.02  # times the median, and nats
_NEAR = 64  # points that a spike is compared with, beside all of the run

Level = Literal["warning", "error"]


@dataclass(frozen=True)
class Alert:
    """Something that began at publish number `publish`, by the clock at `wall_ns`; negative
    `env_steps` are none.
    """

    level: Level
    text: str
    publish: int
    env_steps: int
    wall_ns: int
    metric: str = ""


def alerts_of(schema: Sequence[Metric], history: History) -> tuple[Alert, ...]:
    """All alerts of a run, oldest first, of each kind the newest few."""
    if not len(history):
        return ()
    kinds = (_slow, _collapsed_entropy, _kl_spikes, _still)
    found = [*_no_numbers(schema, history)]
    with np.errstate(over="ignore"):  # between two numbers that are both next to the largest
        for kind in kinds:
            found += list(kind(history))[-_MOST_OF_A_KIND:]
    return tuple(sorted(found, key=lambda alert: (alert.publish, alert.text)))


def _no_numbers(schema: Sequence[Metric], history: History) -> Iterator[Alert]:
    """The first time that each metric was NaN or infinite; of many metrics, one alert."""
    firsts = {
        metric.name: int(gaps.argmax())
        for metric in schema
        if is_charted(metric) and (gaps := history.gaps(history.series(metric.name))).any()
    }
    by_row: dict[int, list[str]] = {}
    for name, row in firsts.items():
        by_row.setdefault(row, []).append(name)
    for row in sorted(by_row)[:_MOST_OF_A_KIND]:
        names = by_row[row]
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        text = f"NaN or infinite: {', '.join(names[:2])}{more}"
        yield _alert("error", text, history, row, names[0])


def _slow(history: History) -> Iterator[Alert]:
    """Speed under half its own median, for some points in a row."""
    rows, speed = _written(history, ENV_STEPS_PER_S, "mean")
    if len(rows) < _ENOUGH:
        return
    usual = float(np.median(speed))
    slow = speed < _SLOW * usual
    # The first iterations compile and warm up: nothing falls that has not been up.
    slow[: max(_ENOUGH, int(np.argmax(speed >= usual)))] = False
    for start, end in _stretches(slow):
        slowest = format_si(float(speed[start:end].min()))
        text = f"speed fell to {slowest}, under half its median of {format_si(usual)}"
        yield _alert("warning", text, history, rows[start], ENV_STEPS_PER_S)


def _collapsed_entropy(history: History) -> Iterator[Alert]:
    """Entropy all but gone: the policy has stopped exploring. Only for entropies that start
    positive, as those of discrete actions do.
    """
    rows, entropy = _written(history, ENTROPY, "mean")
    if len(rows) < _ENOUGH:
        return
    first = float(entropy[:_IN_A_ROW].max())
    for start, _ in _stretches(entropy < _COLLAPSED * first if first > 0 else entropy < -np.inf):
        text = f"entropy collapsed to {format_value(float(entropy[start]))}"
        text += f", from {format_value(first)} at the start"
        yield _alert("warning", text, history, rows[start], ENTROPY)


def _kl_spikes(history: History) -> Iterator[Alert]:
    """An update that moved the policy many times as far as others do, in the whole run and near
    it: at the start of a run all updates are large.
    """
    rows, kl = _written(history, KL, "high")
    _, mean = _written(history, KL, "mean")
    if len(rows) < _ENOUGH:
        return
    usual = np.maximum(_medians_near(mean), float(np.median(mean)))
    spikes = kl > np.maximum(_KL_SPIKE * usual, _KL_AT_LEAST)
    begins_at = history.publish - history.num_publishes
    spikes[begins_at[rows] < _ENOUGH] = False  # the very first are larger still
    for start, end in _stretches(spikes, at_least=1):
        text = f"KL spike of {format_value(float(kl[start:end].max()))}"
        text += f", the median is {format_value(float(usual[start]))}"
        yield _alert("warning", text, history, rows[start], KL)


def _medians_near(values: Floats) -> Floats:
    """For each of P values the median of the `_NEAR` that it is among [P]."""
    starts = range(0, max(1, len(values) - _NEAR // 2), _NEAR)
    parts = np.split(values, starts[1:])  # the last is up to half as long again
    medians = np.array([np.median(part) for part in parts])
    return np.repeat(medians, [len(part) for part in parts])


def _still(history: History) -> Iterator[Alert]:
    """Published again and again with no env step done, for a minute or more, up to now."""
    steps, seconds = history.env_steps, history.elapsed_s
    if len(steps) < _IN_A_ROW or steps[-1] < 0:
        return
    row = int(np.searchsorted(steps, steps[-1]))
    stood_s = float(seconds[-1] - seconds[row])
    if len(steps) - row >= _IN_A_ROW and stood_s >= _STILL_S:
        text = f"no progress: env steps have stood still for {format_duration(stood_s)}"
        yield _alert("warning", text, history, row)


def _written(history: History, name: str, side: str) -> tuple[Integers, Floats]:
    """The rows that have a finite number of metric `name`, and those numbers."""
    series = history.series(name)
    rows = np.flatnonzero(np.isfinite(series.mean))
    return rows, getattr(series, side)[rows]


def _stretches(flags: Flags, at_least: int = _IN_A_ROW) -> list[tuple[int, int]]:
    """Where `flags` hold `at_least` times in a row: first, and one after the last."""
    edges = np.flatnonzero(np.diff(flags.astype(np.int8), prepend=0, append=0))
    pairs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [(start, end) for start, end in pairs if end - start >= at_least]


def _alert(level: Level, text: str, history: History, row: int, metric: str = "") -> Alert:
    row = int(row)
    publish, env_steps = int(history.publish[row]), int(history.env_steps[row])
    return Alert(level, text, publish, env_steps, int(history.wall_s[row] * 1e9), metric)
