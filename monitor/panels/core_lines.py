"""How busy every core is: as bars with numbers, or as a map of one cell each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..look.lines import Line, fit
from .machine_rows import LABEL_WIDTH, level

_BAR_WIDTH, _COLUMN_WIDTH = 10, 24
_BUSY = 0.9


def core_map(loads: Sequence[float], width: int, most_rows: int) -> list[Line]:
    """A cell for each core, in at most `most_rows`; where there are more, one for the busiest of
    each few neighbours.
    """
    room = max(1, width - LABEL_WIDTH)
    each = max(1, math.ceil(len(loads) / (room * most_rows)))
    busiest = [max(loads[i : i + each]) for i in range(0, len(loads), each)]
    lines: list[Line] = []
    for start in range(0, len(busiest), room):
        label = "" if start else "cores"
        cells = "".join(map(level, busiest[start : start + room]))
        lines.append([(fit(label, LABEL_WIDTH), "dim"), (cells, "focus")])
    return lines


def core_bars(loads: Sequence[float], width: int, most_rows: int) -> list[Line]:
    """A bar with its number for each core, in columns under a head; none where they do not all have
    room.
    """
    columns = (width + 1) // _COLUMN_WIDTH
    num_rows = math.ceil(len(loads) / max(1, columns))
    if not loads or not columns or 1 + num_rows > most_rows:
        return []
    lines: list[Line] = [[] for _ in range(num_rows)]
    for core, load in enumerate(loads):
        cells = round(load * _BAR_WIDTH)
        lines[core % num_rows] += [
            (f"{core:>4} ", "dim"),
            ("━" * cells, "warning" if load > _BUSY else "focus"),
            ("─" * (_BAR_WIDTH - cells), "faint"),
            (f"{100 * load:>4.0f}%   ", "text"),
        ]
    return [[(fit("every core, whatever keeps it busy", width), "dim")], *lines]
