"""Which charts a run gets, and what is on each: the page describes itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...shared import History, Metric
from ...shared.page.schema import QUANTILES
from ..render.formatting import (
    UNKNOWN,
    counted,
    format_count,
    format_difference,
    format_relative,
    format_value,
)
from ..render.palette import series_of_group
from ..runs.list.filter_terms import words_filter
from ..runs.list.group_statistics import Middle, interval_text
from .chart import Chart, Trace
from .charted_metrics import RETURN, is_charted, is_learning_curve, steps_name
from .curves import Curve, Floats, difference, value_at
from .distributions import MEDIAN, Distribution, with_distributions
from .layers import Mark
from .options import ChartOptions
from .seeds import SEEDS, SeedsHistory
from .shown_run import ShownRun
from .x_axis import range_of, share_of

LENGTH = "episode/length"
# What people look at first; the rest follows in the order of the page.
_FIRST = (
    "cost/total",
    "cost/held_out",
    "episode/return",
    "loss/policy",
    "loss/value",
    "speed/env_steps_per_s",
    "evaluation/return",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
    "value/explained_variance",
    LENGTH,
)

_LEAST_POINTS = 8  # of a curve that says something by being constant
_COUNTED = ("episodes", "runs", "env steps", "steps", "updates", "iterations")  # units


def charted(schemas: Iterable[Sequence[Metric]], words: Sequence[str] = ()) -> list[Metric]:
    """The metrics of all runs that get a chart, those that the filter of `words` leaves, in the
    order of the charts: details last. Raises FilterError where it is not understood.
    """
    is_wanted = words_filter(" ".join(words))
    metrics: dict[str, Metric] = {}
    for metric in (metric for schema in schemas for metric in schema):
        metrics.setdefault(metric.name, metric)
    wanted = [
        metric for metric in metrics.values() if is_charted(metric) and is_wanted(metric.name)
    ]
    joined = with_distributions(wanted)
    return sorted(joined, key=lambda metric: (metric.level, _rank(metric.name)))


def says_nothing(name: str, histories: Sequence[History]) -> bool:
    """Whether the chart of a metric is a line that says no more than its value, or the same as the
    return: a constant, but not of how well a policy does, nor of what people look at first.
    """
    if name == LENGTH:
        return all(_is_known(h.series(name).mean) and _is_return(h) for h in histories)
    if name in _FIRST or is_learning_curve(name):
        return False
    return all(_is_constant(history.series(name).mean) for history in histories)


def _is_known(values: Floats) -> bool:
    return int(np.isfinite(values).sum()) >= _LEAST_POINTS


def _is_constant(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return len(known) >= _LEAST_POINTS and bool((known == known[0]).all())


def _is_return(history: History) -> bool:
    return np.array_equal(history.series(LENGTH).mean, history.series(RETURN).mean, equal_nan=True)


def chart_of(
    metric: Metric,
    runs: Sequence[ShownRun],
    options: ChartOptions,
    whole: tuple[float, float],
    marks: tuple[Mark, ...] = (),
) -> Chart:
    """The chart of `metric` for `runs`, the one in front first; `whole` is all of the axis.

    Where a metric has a step metric, that is its axis in place of env steps: the part of it that
    is shown, and the cursor, are at the same shares of it as on the axis of the others.
    """
    step_metric, own = _own_axis(metric, runs, options)
    low, high = options.window.shown(whole)
    if step_metric:
        low, high = (_at_same_share(x, whole, own) for x in (low, high))
        if options.cursor is not None:
            options = replace(options, cursor=_at_same_share(options.cursor, whole, own))
        whole, marks = own, ()
    span = whole[1] - whole[0]
    part = (low, high) if options.window.width is not None else None
    curves = [
        run.curve(metric.name, options.strength, span, step_metric=step_metric, shown=part)
        for run in runs
    ]
    reference = next((c for run, c in zip(runs, curves, strict=True) if run.is_reference), None)
    shows_difference = options.shows_difference and reference is not None and len(runs) > 1
    shown, drawn = list(runs), curves
    if shows_difference and reference is not None:
        shown = [run for run in runs if not run.is_reference]
        drawn = [
            difference(curve, reference)
            for run, curve in zip(runs, curves, strict=True)
            if not run.is_reference
        ]
    front = shown[0]
    value, is_alarming = _value(metric, front, drawn[0], options, shows_difference)
    unit = metric.unit
    if reference is not None and not front.is_reference and not shows_difference:
        of_reference = next(run for run in runs if run.is_reference)
        both = [
            run.curve(metric.name, options.strength, span, step_metric=step_metric)
            for run in (front, of_reference)
        ]
        away = _to_reference(both[0], both[1], options.cursor)
        unit = f"Δ{away}" if away else unit
    count, interval = _of_runs(
        metric.name, front, drawn[0], None if step_metric else options.cursor
    )
    traces = [_trace(metric, r, c, options) for r, c in zip(shown, drawn, strict=True)]
    if isinstance(metric, Distribution):
        unit = unit or "median"
        if len(runs) == 1 and not isinstance(front.view.history, SeedsHistory):
            quantile_of = partial(
                front.curve, strength=options.strength, x_span=span, step_metric=step_metric,
                shown=part,
            )  # fmt: skip
            traces = _quantiles(metric, traces[0], quantile_of, options.cursor)
    return Chart(
        title=_title(metric, options, shows_difference),
        value=value,
        traces=tuple(traces),
        x_range=(low, high),
        note=_note(metric, front, options, step_metric),
        unit=unit,
        interval="" if shows_difference or options.smoothing else interval,
        count=count,
        waits_for=metric.name,
        lacking=_lacking(metric.name, runs, curves) if shows_difference else _never(runs),
        x_unit=step_metric or _axis_name(front),
        is_alarming=is_alarming,
        is_log_x=metric.name in options.log_x,
        is_log_y=metric.name in options.log_y,
        is_full_y=metric.name in options.full_y,
        is_learning_curve=is_learning_curve(metric.name),
        cursor=options.cursor,
        marks=marks,
    )


def _own_axis(
    metric: Metric, runs: Sequence[ShownRun], options: ChartOptions
) -> tuple[str, tuple[float, float]]:
    """The step metric that `metric` is drawn over and all of its axis; empty where it is drawn as
    the others are.
    """
    step_metric = metric.step_metric
    if options.x_count != "env steps" or step_metric in ("", metric.name):
        return "", (0.0, 0.0)
    curves = [run.curve(metric.name, step_metric=step_metric) for run in runs]
    places = [curve.x for curve in curves if len(curve)]
    if not places:
        return "", (0.0, 0.0)
    is_alive = any(run.view.status.is_alive for run in runs)
    return step_metric, range_of(places, is_alive and options.window.width is None)


def _at_same_share(x: float, axis: tuple[float, float], other: tuple[float, float]) -> float:
    """Where on the `other` axis lies what lies at `x` of one."""
    return other[0] + share_of(x, axis) * (other[1] - other[0])


def _title(metric: Metric, options: ChartOptions, shows_difference: bool) -> str:
    logs = "".join(axis for axis, names in _logs(options) if metric.name in names)
    title = metric.title if isinstance(metric, Distribution) else metric.name
    title = f"Δ {title}" if shows_difference else title
    title = f"{title} log {logs}" if logs else title
    return f"{title} full" if metric.name in options.full_y else title


def _logs(options: ChartOptions) -> tuple[tuple[str, frozenset[str]], ...]:
    return ("x", options.log_x), ("y", options.log_y)


def _trace(metric: Metric, run: ShownRun, curve: Curve, options: ChartOptions) -> Trace:
    if run.look is None:
        return Trace(curve, f"series{series_of_group(metric.group)}")
    value = _at(curve, options.cursor)
    return Trace(
        curve, run.look.style, run.look.dash, run.look.marker, run.label, format_value(value),
        has_band=isinstance(run.view.history, SeedsHistory), is_reference=run.is_reference,
    )  # fmt: skip


def _quantiles(
    metric: Distribution, median: Trace, curve_of: Callable[[str], Curve], cursor: float | None
) -> list[Trace]:
    """The traces of all quantiles of a distribution, its median first."""
    traces = []
    for percent in sorted(QUANTILES.values(), key=lambda percent: (percent != MEDIAN, -percent)):
        curve = curve_of(metric.quantile(percent))
        value = format_value(_at(curve, cursor))
        traces.append(
            replace(median, curve=curve, label=f"{percent}%", value=value, percent=percent)
        )
    return traces


def _of_runs(name: str, run: ShownRun, curve: Curve, cursor: float | None) -> tuple[str, str]:
    """The number of runs that the value is the mean of, and its interval, if it is a mean."""
    history = run.view.history
    if not isinstance(history, SeedsHistory) or name == SEEDS.name:
        return "", ""
    num_runs = history.num_seeds(name, cursor if run.axis.unit == "env steps" else None)
    low, mean, high = (
        _at(replace(curve, mean=side), cursor) for side in (curve.low, curve.mean, curve.high)
    )
    interval = ""
    if num_runs > 1 and low is not None and mean is not None and high is not None:
        interval = interval_text(Middle(mean, low, high, num_runs), history.spread)
    return f"{num_runs} of {counted(len(history.members), 'run')}", interval


def _value(
    metric: Metric, run: ShownRun, curve: Curve, options: ChartOptions, shows_difference: bool
) -> tuple[str, bool]:
    """The value in words, and whether it is one to worry about."""
    if options.cursor is not None or shows_difference:
        value = _at(curve, options.cursor)
        return (format_difference(value) if shows_difference else _in_words(metric, value)), False
    newest = run.view.newest.get(metric.name)
    # A value that was never written and one that was written as NaN look the same in a snapshot;
    # only the latter comes after points of a curve.
    is_nan = newest is not None and not math.isfinite(newest)
    has_value = len(curve) > 0 or (newest is not None and not math.isnan(newest))
    return _in_words(metric, newest if has_value else None), is_nan and has_value


def _in_words(metric: Metric, value: float | None) -> str:
    """Whole numbers of things, such as episodes, without a fraction."""
    is_count = metric.kind == "counter" or metric.unit in _COUNTED
    is_whole = value is not None and math.isfinite(value) and value == round(value)
    return format_count(value) if is_count and is_whole else format_value(value)


def _lacking(name: str, runs: Sequence[ShownRun], curves: Sequence[Curve]) -> str:
    """A message if the reference has ended without metric `name`, else nothing."""
    for run, curve in zip(runs, curves, strict=True):
        if run.is_reference and not (len(curve) or run.view.status.is_alive):
            return f"the reference has no {name}"
    return ""


def _never(runs: Sequence[ShownRun]) -> str:
    """The words in place of a curve that will never have a point; empty while it may have one."""
    may_come = any(run.view.status.is_alive for run in runs)
    return "" if may_come else "no value was logged"


def _to_reference(curve: Curve, reference: Curve, cursor: float | None) -> str:
    """How far the curve is from the reference at the cursor, or where both are newest."""
    if not len(curve) or not len(reference):
        return ""
    at = min(float(curve.x[-1]), float(reference.x[-1])) if cursor is None else cursor
    own, other = value_at(curve, at), value_at(reference, at)
    if own is None or other is None:
        return ""
    relative = format_relative(own, other)
    return format_difference(own - other) + (f" {relative}" if relative != UNKNOWN else "")


def _at(curve: Curve, cursor: float | None) -> float | None:
    """At the cursor; the newest without one."""
    if cursor is not None:
        return value_at(curve, cursor)
    return float(curve.mean[-1]) if len(curve) else None


def _note(metric: Metric, run: ShownRun, options: ChartOptions, step_metric: str) -> str:
    over = f"over {step_metric or _axis_name(run)}"
    if options.smoothing:
        over += f", smoothed over {100 * options.strength:g}% of the run"
    return f"{metric.description}, {over}" if metric.description else over


def _axis_name(run: ShownRun) -> str:
    """The name of the steps, the same as in the head of the run's screen."""
    names = (metric.name for metric in run.view.schema)
    return steps_name(names) if run.axis.unit == "env steps" else run.axis.unit


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)
