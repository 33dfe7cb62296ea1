"""The lower edge of a chart: its horizontal axis, with both ends and the unit."""

from __future__ import annotations

from dataclasses import dataclass

from ..render.formatting import format_count, format_ticks, format_value, log_tick_label
from ..render.lines import Line, fit_middle
from .ticks import log_ticks, nice_step_below, ticks
from .x_axis import cell_of

_SHORT = {
    "env steps": "steps",
    "iterations": "iter",
    "publishes": "publ",
    "seconds": "s",
    "minutes": "min",
    "hours": "h",
    "days": "d",
}
_COUNTS = ("env steps", "iterations", "publishes")
_LONGEST_UNIT = 20
_CELLS_A_TICK = 8


@dataclass(frozen=True)
class XEdge:
    """The content of the edge: the range drawn, as powers of ten where `is_log`, its unit, and the
    `places` pointed at: a cursor, or the two ends of a selection.
    """

    x_range: tuple[float, float]
    unit: str = ""
    is_log: bool = False
    places: tuple[float, ...] = ()


def draw_x_edge(edge: XEdge, width: int, start: int, border: str) -> Line:
    """The lower edge of a frame of `width` cells, whose plot begins at cell `start`.

    Both ends are always there, the unit wherever it fits; then come the places that are pointed at,
    beside the ends where those have their cells, and what room is left goes to ticks. The unit is
    shortened where there would be none.
    """
    low, high = edge.x_range
    places = [place for place in edge.places if low <= place <= high]
    for unit in _units(edge.unit):
        row = _Row(width, start, border)
        ends = _put_ends(row, edge, unit)
        pointed_at = [_put_near(row, edge, place) for place in places]
        has_ticks = _put_ticks(row, edge, _CELLS_A_TICK)
        if ends and all(pointed_at) and (has_ticks or unit != edge.unit):
            if not has_ticks:
                _put_ticks(row, edge, _CELLS_A_TICK - 2)
            break
    return row.line()


def _units(unit: str) -> list[str]:
    """The unit in fewer and fewer letters: `minutes trained`, `min trained`, `min`."""
    first, _, rest = unit.partition(" ")
    if unit in _SHORT or first in _SHORT:
        shorter = [_SHORT[unit]] if unit in _SHORT else [f"{_SHORT[first]} {rest}", _SHORT[first]]
    else:
        shorter = [fit_middle(unit, _LONGEST_UNIT // 2)]
    return list(dict.fromkeys([fit_middle(unit, _LONGEST_UNIT), *shorter, ""]))


class _Row:
    """The cells between the corners of the edge, which are taken one text after the other."""

    def __init__(self, width: int, start: int, border: str) -> None:
        self._cells = ["─"] * max(0, width - 2)
        self._styles = [border] * len(self._cells)
        self._taken = [False] * len(self._cells)
        self._start, self._border = start - 1, border
        self.columns = max(1, width - start - 2)

    def __len__(self) -> int:
        return len(self._cells)

    def begin_under(self, place: float, x_range: tuple[float, float], label: str) -> int:
        """Where a text with a blank at both sides begins, whose middle is under a place."""
        column = self._start + cell_of(place, x_range, self.columns)
        begin = max(self._start, column - len(label) // 2) - 1
        return min(begin, len(self._cells) - len(label) - 2)

    def put(self, text: str, begin: int, style: str) -> bool:
        """Write it there if all its cells are free; one blank between two texts will do."""
        end = begin + len(text)
        if begin < 0 or end > len(self._cells) or any(self._taken[begin:end]):
            return False
        self._cells[begin:end] = text
        self._styles[begin + 1 : end - 1] = [style] * (len(text) - 2)
        self._taken[begin + 1 : end - 1] = [True] * (len(text) - 2)
        return True

    def line(self) -> Line:
        """Cells of the same style together."""
        line: Line = [("╰", self._border)]
        for letter, style in zip(self._cells, self._styles, strict=True):
            if line[-1][1] == style:
                line[-1] = (line[-1][0] + letter, style)
            else:
                line.append((letter, style))
        return [*line, ("╯", self._border)]


def _put_ends(row: _Row, edge: XEdge, unit: str) -> bool:
    """The start at the left, the end and the unit at the right; the start moves out under the
    labels of the other axis where it has no room.
    """
    low, high = edge.x_range
    if not high > low:
        label = _with_unit(_value_text(edge, low), unit)
        return row.put(f" {label} ", row.begin_under(low, edge.x_range, label), "dim")
    first, last = _end_labels(edge)
    last = f" {_with_unit(last, unit)} "
    has_last = row.put(last, len(row) - len(last), "dim")
    begin = min(row.begin_under(low, edge.x_range, ""), len(row) - len(last) - len(first) - 1)
    return row.put(f" {first} ", max(0, begin), "dim") and has_last


def _with_unit(label: str, unit: str) -> str:
    return f"{label} {unit}" if unit else label


def _end_labels(edge: XEdge) -> tuple[str, str]:
    low, high = edge.x_range
    if edge.is_log:
        return log_tick_label(low), log_tick_label(high)
    step = nice_step_below((high - low) / 20)
    if _is_of_counts(edge):
        step = max(step, 1.0)
    first, last = format_ticks([low, high], step)
    return first, last


def _is_of_counts(edge: XEdge) -> bool:
    """Whether all numbers of the axis are whole; not where it is zoomed in to less than one."""
    low, high = edge.x_range
    return edge.unit in _COUNTS and high - low >= 1


def _value_text(edge: XEdge, place: float) -> str:
    value = 10.0**place if edge.is_log else place
    is_small_count = edge.unit in _COUNTS and abs(value) < 10_000
    return format_count(value) if is_small_count else format_value(value)


def _put_near(row: _Row, edge: XEdge, place: float) -> bool:
    """The value of a place below it, or as near as there is room."""
    low, high = edge.x_range
    if not edge.is_log and abs(place) < (high - low) / 10_000:
        label = "0"  # its digits would take the room of the unit
    else:
        label = _value_text(edge, place)
    begin = row.begin_under(place, edge.x_range, label)
    for distance in range(len(row)):
        for at in (begin - distance, begin + distance):
            if row.put(f" {label} ", at, "focus"):
                return True
    return False


def _put_ticks(row: _Row, edge: XEdge, cells: int) -> bool:
    """Put a tick about every `cells` cells that has room. False where none of them has room."""
    low, high = edge.x_range
    if not high > low:
        return True
    has_any = False
    for place, label in _ticks(edge, max(24 // cells, row.columns // cells)):
        has_any |= row.put(f" {label} ", row.begin_under(place, edge.x_range, label), "dim")
    return has_any


def _ticks(edge: XEdge, at_most: int) -> list[tuple[float, str]]:
    low, high = edge.x_range
    if edge.is_log:
        powers = log_ticks(low, high, at_most).tolist()
        return [(power, log_tick_label(power)) for power in powers]
    if _is_of_counts(edge):
        at_most = min(at_most, int(high - low) + 1)
    places = ticks(low, high, at_most).tolist()
    step = places[1] - places[0] if len(places) > 1 else high
    return list(zip(places, format_ticks(places, step), strict=True))
