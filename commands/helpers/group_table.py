"""Statistics of groups of runs: what `operant runs --group-by` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...monitor.panels.group_table import env_steps_range, env_steps_text
from ...monitor.render.columns import Column
from ...monitor.render.formatting import UNKNOWN, format_relative, format_value
from ...monitor.runs.list.group_statistics import (
    SPREAD_WORDS,
    SPREADS,
    Middle,
    Spread,
    interval_text,
)
from ...monitor.runs.list.run_groups import NAME, RunGroup, RunGrouper
from ...monitor.runs.list.run_values import known_names
from ...monitor.runs.list.runs_poller import RunRow
from ...shared.errors import PageError, UsageError, nearest
from ...shared.runs.run_folder import Run
from ...shared.runs.status import json_value


class GroupStatistics(NamedTuple):
    """Values of a metric in the runs of a group; `reference` is the mean of the baseline."""

    group: RunGroup
    metric: str
    middles: dict[Spread, Middle]
    reference: float | None

    @property
    def mean(self) -> float | None:
        return self.middles["range"].value if self.middles else None

    def as_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "group": self.group.label,
            "runs": [row.run.id for row in self.group.rows],
            "metric": self.metric,
            "num_values": self.middles["range"].num_runs if self.middles else 0,
            "env_steps": env_steps_range(self.group),
        }
        if self.middles:
            quartiles, ends, error, iqm = (self.middles[spread] for spread in SPREADS)
            fields |= {
                "mean": ends.value,
                "standard_error": error.high - error.value,
                "interquartile_mean": iqm.value,
                "interquartile_mean_ci95": [json_value(iqm.low), json_value(iqm.high)],
                "quartiles": [quartiles.low, quartiles.high],
                "min": ends.low,
                "max": ends.high,
            }
        if self.reference is not None:
            mean = math.nan if self.mean is None else self.mean
            fields["baseline"] = self.reference
            size = abs(self.reference) or math.nan
            fields["above_baseline_fraction"] = (mean - self.reference) / size
        filled: dict[str, Any] = json_value(fields)
        return filled


def group_statistics(
    rows: Sequence[RunRow],
    by: str,
    metric: str | None,
    baseline: str | None,
    env_steps: float | None = None,
) -> list[GroupStatistics]:
    """Group `rows` by name (`by` is `NAME`) or by a configuration key, of which the last part is
    enough, and return the statistics of each group. Without a `metric`, they are of each group's
    main metric. `baseline` is the label of a group, or the name or id of a run. With `env_steps`,
    the values are those at that step, and the groups lack the runs that have not reached it.

    Raises UsageError if no run or group has a name.
    """
    known = known_names(rows)
    keys = [NAME] if by == NAME else known.config_keys(by)
    if len(keys) != 1:
        others = (
            f"write one of {', '.join(keys)}" if keys else f"no run has this key{known.near(by)}"
        )
        raise UsageError(f"--group-by {by}: {others}")
    metrics = known.metric_names(metric) if metric else [""]
    if len(metrics) != 1:
        near = nearest(metric or "", known.metrics)
        others = (
            f"write one of {', '.join(metrics)}" if metrics else f"no run has this metric{near}"
        )
        raise UsageError(f"--metric {metric}: {others}")
    groups = RunGrouper().groups(rows, keys[0])
    found = []
    names = [metrics[0] or group.main for group in groups]
    other = _baseline(groups, baseline) if baseline else None
    if env_steps is not None:
        then = _rows_at(env_steps, rows, set(names))

        def at_step(group: RunGroup) -> RunGroup:
            return replace(group, rows=tuple(then[run] for run in group.runs if run in then))

        groups, other = [at_step(group) for group in groups], at_step(other) if other else None
    for name, group in zip(names, groups, strict=True):
        middles = {s: middle for s in SPREADS if (middle := group.metric(name, s))}
        reference = other.metric(name, "range") if other else None
        mean = reference.value if reference else None
        found.append(GroupStatistics(group, name, middles, mean))
    return found


def group_columns(found: Sequence[GroupStatistics]) -> list[Column[GroupStatistics]]:
    """The columns of a table of statistics."""
    names = {one.metric for one in found}
    heading = names.pop() if len(names) == 1 else ""

    def value(one: GroupStatistics, spread: Spread) -> str:
        return format_value(one.middles[spread].value) if one.middles else UNKNOWN

    def interval(one: GroupStatistics, spread: Spread) -> str:
        return interval_text(one.middles[spread], spread) if one.middles else ""

    def relative(one: GroupStatistics) -> str:
        return format_relative(one.mean, one.reference) if has_baseline else ""

    has_baseline = any(one.reference is not None for one in found)
    return [
        Column("group", lambda one: one.group.label, 20, 90),
        Column("of", lambda one: "" if heading else one.metric, priority=5),
        Column("n", lambda one: str(one.middles["range"].num_runs if one.middles else 0),
               align=">"),
        Column(heading or "mean", partial(value, spread="error"), 6, 90, align=">"),
        Column(SPREAD_WORDS["error"], partial(interval, spread="error"), 0),
        Column("vs baseline", relative, align=">"),
        Column("IQM", partial(value, spread="iqm"), priority=2, align=">"),
        Column("95% CI", partial(interval, spread="iqm"), priority=2),
        Column(SPREAD_WORDS["range"], partial(interval, spread="range"), priority=3),
        Column("steps", lambda one: env_steps_text(one.group), priority=1, align=">"),
    ]  # fmt: skip


def _rows_at(env_steps: float, rows: Sequence[RunRow], metrics: set[str]) -> dict[Run, RunRow]:
    """Those of `rows` whose runs have reached `env_steps`, with the values of `metrics` there: the
    last ones that were written up to that step.
    """
    from ...monitor.export.frame import columns_of

    def at(row: RunRow) -> RunRow:
        assert row.status
        try:
            columns = columns_of(row.run, metrics)
        except (PageError, OSError):
            columns = {}  # there is nothing to read
        steps = columns.get("env_steps", np.zeros(0))
        places = {
            name: known[-1]
            for name in columns.keys() & metrics
            if len(known := np.flatnonzero((steps <= env_steps) & ~np.isnan(columns[name])))
        }
        values = {name: float(columns[name][place]) for name, place in places.items()}
        seen = int(steps[max(places.values())]) if places else None
        return replace(row, status=replace(row.status, metrics=values, env_steps=seen))

    due = [row for row in rows if row.status and (row.status.env_steps or 0) >= env_steps]
    return {row.run: at(row) for row in due}


def _baseline(groups: Sequence[RunGroup], wanted: str) -> RunGroup:
    """The group of this label, or the run of this name or id, or of a part of its id that no other
    has, as a group of its own.
    """
    runs = [row for group in groups for row in group.rows]
    named = [group for group in groups if group.label == wanted]
    named += [RunGroup((), wanted, (row,)) for row in runs if wanted in (row.run.id, row.name)]
    parts = [RunGroup((), wanted, (row,)) for row in runs if wanted in row.run.id]
    named = named or (parts if len(parts) == 1 else [])
    if not named:
        labels = [group.label for group in groups]
        near = nearest(wanted, [*labels, *(row.name for row in runs)])
        raise UsageError(f"--baseline {wanted}: no group or run has this name{near}")
    return named[0]
