"""The head of the screen of groups: what lines and bands are, and which group is which."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.cells import cell_len

from ..charts.charted_metrics import RETURN
from ..render.formatting import format_count, format_relative, format_value
from ..render.lines import Line, fit, fit_end, fit_line, line_width, spread
from ..runs.list.group_source import GroupLook, WatchedGroup
from ..runs.list.group_statistics import SPREAD_WORDS, Middle, Spread, interval_text, middle_of
from ..runs.list.run_groups import states_of

_LABEL_WIDTH = 48


def draw_group_head(
    width: int,
    _: int,
    groups: Sequence[WatchedGroup],
    looks: Sequence[GroupLook],
    shown_spread: Spread,
) -> list[Line]:
    """What lines and bands are, and a row for each group: its look, how many runs it has, how they
    do, and their returns.
    """
    count = "1 group" if len(groups) == 1 else f"{len(groups)} groups"
    words = {
        "error": "lines are means, bands ± standard error ",
        "iqm": "lines are interquartile means, bands 95% bootstrap intervals ",
    }.get(shown_spread, f"lines are means, bands {SPREAD_WORDS[shown_spread]} ")
    title: Line = [(" operant", "bar_strong"), (f"  {count}", "bar_dim")]
    lines = [spread(title, [(words, "bar_focus")], width, "bar_text")]
    reference = next((look for look in looks if look.watched.is_reference), None)
    for place, group in enumerate(groups):
        numbers = _numbers(looks[place], reference, shown_spread) if looks else []
        lines.append(_row(group, numbers, width))
    return lines


def _row(group: WatchedGroup, pieces: list[Line], width: int) -> Line:
    look = group.look
    line: Line = [(f" {look.marker} " if look else " ", look.style if look else "text")]
    reference: Line = [(" ref", "dim")] if group.is_reference else []
    room = width - line_width(line) - line_width(reference)
    wanted = min(cell_len(group.name), _LABEL_WIDTH)
    while len(pieces) > 1 and room - sum(map(line_width, pieces)) < wanted:
        pieces.pop()  # the list has it as well
    tail = [*reference, *(part for piece in pieces for part in piece)]
    name_width = max(10, min(_LABEL_WIDTH, width - line_width(line) - line_width(tail)))
    line.append((fit(fit_end(group.name, name_width), name_width), "strong"))
    return fit_line([*line, *tail], width, "text")


def _numbers(look: GroupLook, reference: GroupLook | None, shown_spread: Spread) -> list[Line]:
    """States, return, its distance from the reference's, its interval, the number of runs with
    one, env steps: what matters most first.
    """
    statuses = [view.status for view in look.views]
    middle = _return(look, shown_spread)
    steps = [status.env_steps for status in statuses if status.env_steps is not None]
    conditions = [(view.status, view.is_page_expected) for view in look.views]
    states = [(f"{sign}{count} ", style) for sign, style, count in states_of(conditions)]
    pieces: list[Line] = [[("  ", "text"), *states]]
    if middle:
        pieces.append([(f" return {format_value(middle.value)}", "text")])
        other = _return(reference, shown_spread) if reference not in (None, look) else None
        if other:
            pieces.append([(f" {format_relative(middle.value, other.value)}", "strong")])
        pieces.append([(f"  {interval_text(middle, shown_spread)}", "dim")])
        pieces.append([(f"  n={middle.num_runs}", "dim")])
    if steps:
        ends = " to ".join(dict.fromkeys(map(format_count, (min(steps), max(steps)))))
        pieces.append([(f"  steps {ends}", "dim")])
    return pieces


def _return(look: GroupLook | None, shown_spread: Spread) -> Middle | None:
    """The middle of the newest returns."""
    views = look.views if look else ()
    returns = [view.status.metrics.get(RETURN, math.nan) for view in views]
    return middle_of([value for value in returns if math.isfinite(value)], shown_spread)
