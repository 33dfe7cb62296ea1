"""Charts by the groups of their metrics, those that are pinned before all, those that are hidden
at the end; and the line above each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...shared import Metric
from ..render.formatting import counted
from ..render.lines import Line, fit, line_width
from .arrangement import Arrangement

# Charts that are found without groups, what people look at first in front.
MAX_UNGROUPED = 24
PINNED, HIDDEN, ALL = "*pinned", "*hidden", "*"
_WAYS = "[ ] other groups"


class Section(NamedTuple):
    """Charts that stand together: `num_charts` of them from place `start` on, counted over all
    sections. One that is not open has a single place, that of its heading.
    """

    key: str
    start: int
    num_charts: int
    is_open: bool = True

    @property
    def title(self) -> str:
        return self.key.lstrip("*")

    @property
    def end(self) -> int:
        return self.start + (self.num_charts if self.is_open else 1)


def group_of(name: str) -> str:
    """`loss` of `loss/value/first`; metrics without a prefix are in one group."""
    prefix, slash, _ = name.partition("/")
    return prefix if slash else "other"


def arranged(
    metrics: Sequence[Metric], arrangement: Arrangement, num_all: int = 0, is_search: bool = False
) -> tuple[list[Section], list[Metric]]:
    """The sections of `metrics`, which are in the order of what people look at first, and the
    metric at each place; at the place of a heading it is the group's first.

    There are groups where a run has many metrics, `num_all` without a filter, or one of them is
    collapsed. A search opens all but what is hidden.
    """
    names = {metric.name: metric for metric in metrics}
    special = {*arrangement.pinned, *arrangement.hidden}
    rest = [metric for metric in metrics if metric.name not in special]
    pinned = [names[name] for name in arrangement.pinned if name in names]
    hidden = [metric for metric in metrics if metric.name in arrangement.hidden]
    is_grouped = max(num_all, len(metrics)) > MAX_UNGROUPED
    is_grouped |= any(group_of(metric.name) in arrangement.collapsed for metric in rest)
    closed = set() if is_search else {*arrangement.collapsed}
    if not arrangement.shows_hidden:
        closed.add(HIDDEN)
    if is_grouped:
        parts = [(PINNED, pinned), *_groups(rest), (HIDDEN, hidden)]
    else:
        parts = [(ALL, [*pinned, *rest]), (HIDDEN, hidden)]
    return _placed(parts, closed)


def section_at(sections: Sequence[Section], place: int) -> Section | None:
    return next((section for section in sections if section.start <= place < section.end), None)


def _groups(metrics: Iterable[Metric]) -> list[tuple[str, list[Metric]]]:
    """In the order of the first metric of each."""
    groups: dict[str, list[Metric]] = {}
    for metric in metrics:
        groups.setdefault(group_of(metric.name), []).append(metric)
    return list(groups.items())


def _placed(
    parts: Iterable[tuple[str, list[Metric]]], closed: set[str]
) -> tuple[list[Section], list[Metric]]:
    sections: list[Section] = []
    places: list[Metric] = []
    for key, metrics in parts:
        if metrics:
            section = Section(key, len(places), len(metrics), key not in closed)
            sections.append(section)
            places += metrics if section.is_open else metrics[:1]
    return sections, places


def draw_heading(section: Section, width: int, has_keys: bool = False) -> Line:
    """`▾ loss  12 charts ───`; with the keys for it where they go to one of its charts."""
    style = "focus" if has_keys else "text"
    is_hidden = section.key == HIDDEN
    count = f"{section.num_charts} hidden" if is_hidden else section.title
    line: Line = [("▾ " if section.is_open else "▸ ", style), (_fit_to(count, width - 4), style)]
    number = "" if is_hidden else f"  {counted(section.num_charts, 'chart')}"
    ways = _ways(section) if has_keys or is_hidden else ""
    for piece in (number, ways):
        if line_width(line) + len(piece) + 2 <= width:
            line.append((piece, "dim"))
    rule = max(0, width - line_width(line) - 1)
    return [*line, (f" {'─' * rule}", "focus" if has_keys else "faint")]


def _fit_to(text: str, width: int) -> str:
    """`text` in as many cells as it takes, at most `width`."""
    return fit(text, max(0, min(len(text), width)))


def _ways(section: Section) -> str:
    if section.key == HIDDEN:
        hide = "H puts a chart back, " if section.is_open else "c opens, "
        return f"  {hide}0 shows all"
    return f"  c {'collapses' if section.is_open else 'opens'}, {_WAYS}"
