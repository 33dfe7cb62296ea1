"""The ranks of a run, as lines: what each does, and which of them the others wait for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...shared.ranks import (
    RANK_ITERATION_S,
    RANK_NUM_ENVS,
    RANK_WAITING_FRACTION,
    slowest_rank,
)
from ...shared.status import RunStatus
from ..look.formatting import UNKNOWN, format_count, format_percent, format_short_time, format_si
from ..look.lines import Line, fit, line_width
from ..runs.conditions import condition_of

_NAME_WIDTH = 11
_GAP = "  "


class _Column(NamedTuple):
    """`text` is of a rank; `value` NaN where it does not tell."""

    title: str
    width: int
    value: Callable[[RunStatus], float]
    text: Callable[[float], str]


def draw_ranks(ranks: Sequence[RunStatus], width: int, height: int) -> list[Line]:
    """A row for each rank under a head. Where there is no room for all, those that do not run and
    those that wait least stand first.
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
    """`2 air`: its number and its machine."""
    return f"{rank.rank} {rank.host}".rstrip()


def in_words(ranks: Sequence[RunStatus]) -> str:
    """`slowest: 2 air`; empty where that is not known."""
    slowest = slowest_rank(ranks)
    return f"slowest: {rank_name(slowest)}" if slowest else ""


def working_speed(rank: RunStatus) -> float:
    """Env steps per second while it works: what it would do, did it not wait. NaN: not known."""
    waiting = _metric(RANK_WAITING_FRACTION)(rank)
    speed = _speed(rank)
    return speed / (1 - waiting) if waiting < 1 else math.nan


def _speed(rank: RunStatus) -> float:
    return math.nan if rank.env_steps_per_s is None else rank.env_steps_per_s


def _metric(name: str) -> Callable[[RunStatus], float]:
    return lambda rank: rank.metrics.get(name, math.nan)


# As many from the left as there is room for.
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
