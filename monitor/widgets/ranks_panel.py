"""The ranks of a run: what each one does, and which one the others wait for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...shared.runs.ranks import (
    RANK_ITERATION_S,
    RANK_NUM_ENVS,
    RANK_WAITING_FRACTION,
    slowest_rank,
)
from ...shared.runs.status import RunStatus
from ..render.formatting import UNKNOWN, format_count, format_percent, format_short_time, format_si
from ..render.lines import Line, boxed, fit, line_width
from ..runs.reading.conditions import condition_of
from .pane import Pane

_NAME_WIDTH = 11
_GAP = "  "


class _Column(NamedTuple):
    """A column; `text` formats a rank, and `value` is NaN if the rank does not report it."""

    title: str
    width: int
    value: Callable[[RunStatus], float]
    text: Callable[[float], str]


def draw_ranks(ranks: Sequence[RunStatus], width: int, height: int) -> list[Line]:
    """A row for each rank under a heading. If they do not all fit, ranks that do not run and ranks
    that wait least come first.
    """
    columns = _columns(ranks, width)
    slowest = slowest_rank(ranks)
    shown, rest = list(ranks), ""
    if len(ranks) + 1 > height:
        room = max(0, height - 2)
        shown = sorted(ranks, key=_urgency)[:room]
        rest = f"{len(ranks) - len(shown)} more: operant status lists all"
    lines = [_head(columns), *(_row(rank, columns, rank is slowest) for rank in shown)]
    if rest:
        lines.append([(fit(rest, width), "dim")])
    return lines[:height]


def rank_name(rank: RunStatus) -> str:
    """The number and the machine of a rank, such as `2 air`."""
    return f"{rank.rank} {rank.host}".rstrip()


def in_words(ranks: Sequence[RunStatus]) -> str:
    """The slowest rank, such as `slowest: 2 air`; empty if it is unknown."""
    slowest = slowest_rank(ranks)
    return f"slowest: {rank_name(slowest)}" if slowest else ""


def working_speed(rank: RunStatus) -> float:
    """Env steps per second of its working time, without waiting; NaN if unknown."""
    waiting = _metric(RANK_WAITING_FRACTION)(rank)
    speed = _speed(rank)
    return speed / (1 - waiting) if waiting < 1 else math.nan


def _speed(rank: RunStatus) -> float:
    return math.nan if rank.env_steps_per_s is None else rank.env_steps_per_s


def _metric(name: str) -> Callable[[RunStatus], float]:
    return lambda rank: rank.metrics.get(name, math.nan)


# As many columns from the left as fit.
_COLUMNS = (
    _Column("envs", 5, _metric(RANK_NUM_ENVS), format_count),
    _Column("steps/s", 7, _speed, format_si),
    _Column("waits", 6, _metric(RANK_WAITING_FRACTION), format_percent),
    _Column("iteration", 9, _metric(RANK_ITERATION_S), format_short_time),
    _Column("working", 7, working_speed, format_si),
)


def _columns(ranks: Sequence[RunStatus], width: int) -> list[_Column]:
    room = width - _NAME_WIDTH
    columns = []
    for column in _COLUMNS:
        if any(not math.isnan(column.value(rank)) for rank in ranks):
            room -= column.width + len(_GAP)
            if room >= 0:
                columns.append(column)
    return columns


def _head(columns: Sequence[_Column]) -> Line:
    line: Line = [(fit("rank", _NAME_WIDTH), "dim")]
    return [*line, *((_GAP + fit(column.title, column.width, ">"), "dim") for column in columns)]


def _row(rank: RunStatus, columns: Sequence[_Column], is_slowest: bool) -> Line:
    line: Line = [(fit(rank_name(rank), _NAME_WIDTH), "warning" if is_slowest else "text")]
    condition = condition_of(rank)
    if condition.word not in ("running", "finished", "stopped", "ended"):
        room = line_width(_head(columns)) - _NAME_WIDTH - len(_GAP)
        words = f"{condition.symbol} {condition.word}"
        return [*line, (_GAP + fit(words, room), condition.style)]
    for column in columns:
        value = column.value(rank)
        text = UNKNOWN if math.isnan(value) else column.text(value)
        line.append((_GAP + fit(text, column.width, ">"), "strong"))
    return line


def _urgency(rank: RunStatus) -> tuple[bool, float, float]:
    waiting = _metric(RANK_WAITING_FRACTION)(rank)
    is_well = rank.state in ("running", "finished", "stopped", "ended")
    return is_well, math.inf if math.isnan(waiting) else waiting, _speed(rank)


class RanksPanel(Pane):
    """What each rank does, and which of them the others wait for."""

    def __init__(self) -> None:
        super().__init__(id="ranks")
        self._ranks: tuple[RunStatus, ...] = ()

    @property
    def has_ranks(self) -> bool:
        return bool(self._ranks)

    def show(self, ranks: Sequence[RunStatus]) -> None:
        if tuple(ranks) != self._ranks:
            self._ranks = tuple(ranks)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [(f"{len(self._ranks)} ranks", "text")]
        words = f"  {in_words(self._ranks)}"
        if words.strip() and line_width(title) + len(words) + 6 <= width:
            title.append((words, "dim"))
        body = draw_ranks(self._ranks, width - 4, height - 2)
        return boxed(title, body, width, height, self.border)
