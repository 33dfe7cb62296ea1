"""The columns of the list of groups of runs."""

from __future__ import annotations

import numpy as np
from rich.cells import cell_len

from ..charts.charted_metrics import RETURN
from ..render.columns import Column
from ..render.formatting import UNKNOWN, format_count, format_relative, format_value
from ..render.lines import Line, fit_end, line_width
from ..render.sparks import sparkline
from ..runs.list.group_statistics import SPREAD_WORDS, Spread, interval_text
from ..runs.list.run_groups import RunGroup
from ..runs.list.run_order import METRIC, shown_value, value_text
from ..runs.list.run_returns import NUM_RETURNS
from .run_table import NUMBER_WIDTH, no_text, value_columns


def group_columns(
    order: str = "newest",
    spread: Spread = "quartiles",
    main: str = "return",
    reference: RunGroup | None = None,
) -> list[Column[RunGroup]]:
    """The columns of a list by `order`, with `spread` around the mean. `main` is the `main_heading`
    of the groups; with a `reference`, a column has the distances from its mean.
    """
    relative = Column[RunGroup]("vs ref", lambda group: _relative(group, reference, spread),
                                NUMBER_WIDTH, priority=2, align=">", order="return")  # fmt: skip
    return [
        Column("state", no_text, 8, 12, -1, order="state", draw=_draw_states),
        Column("group", lambda group: group.label, 27, 90, draw=_draw_label),
        Column("runs", _num_runs, 5, align=">"),
        *value_columns(order, _value),
        Column(main, lambda group: _middle(group, spread), NUMBER_WIDTH, align=">", order="return"),
        Column(SPREAD_WORDS[spread], lambda group: _interval(group, spread), 16, style="dim"),
        *([relative] if reference else []),
        Column("curve", no_text, 10, 16, 4, order="return", draw=_draw_curve),
        Column("steps", env_steps_text, 13, priority=3, align=">", order="steps"),
    ]  # fmt: skip


def env_steps_range(group: RunGroup) -> tuple[int, int] | None:
    """The smallest and the largest number of env steps of the group's runs."""
    statuses = [row.status for row in group.rows if row.status]
    steps = [status.env_steps for status in statuses if status.env_steps is not None]
    return (min(steps), max(steps)) if steps else None


def env_steps_text(group: RunGroup) -> str:
    """`100k to 200k`."""
    steps = env_steps_range(group)
    return " to ".join(dict.fromkeys(map(format_count, steps))) if steps else UNKNOWN


def _draw_states(group: RunGroup, width: int) -> Line:
    """The number of runs in each state, such as `✗1 ●2 ✓3`."""
    line: Line = []
    for symbol, style, count in group.states():
        if line_width(line) + len(f"{symbol}{count}") <= width:
            line.append((f"{symbol}{count} ", style))
    return line


def _draw_label(group: RunGroup, width: int) -> Line:
    """The label, and the name of the main metric if that is not the return."""
    label = fit_end(group.label, width)
    main = "" if group.main == RETURN else f" {group.main}"
    return [(label, "name"), (main if cell_len(label + main) <= width else "", "dim")]


def _num_runs(group: RunGroup) -> str:
    """`3`, or `2/3` if one of three has no value."""
    mean, num_runs = group.metric(group.main, "range"), len(group.rows)
    return f"{mean.num_runs}/{num_runs}" if mean and mean.num_runs < num_runs else str(num_runs)


def _value(group: RunGroup, order: str) -> str:
    """The value that sorts the list: the mean of a metric, or a value that all runs share."""
    metrics = [shown_value(order)] if order.startswith(METRIC) else ()
    return value_text(group.summary(metrics), order)


def _middle(group: RunGroup, spread: Spread) -> str:
    middle = group.metric(group.main, spread)
    return format_value(middle.value) if middle else UNKNOWN


def _interval(group: RunGroup, spread: Spread) -> str:
    middle = group.metric(group.main, spread)
    return interval_text(middle, spread) if middle else ""


def _relative(group: RunGroup, reference: RunGroup | None, spread: Spread) -> str:
    """How far the middle of the main metric is above that of the reference."""
    if reference is None or group.key == reference.key:
        return "ref"
    middle, other = (one.metric(group.main, spread) for one in (group, reference))
    return format_relative(middle and middle.value, other and other.value)


def _draw_curve(group: RunGroup, width: int) -> Line:
    """The mean of the runs' curves, each from its own start to its own end."""
    curves = [row.returns for row in group.rows if len(row.returns) == NUM_RETURNS]
    means = (np.array(curves) / len(curves)).sum(axis=0).tolist() if curves else []
    return [(sparkline(means, width), "good")]
