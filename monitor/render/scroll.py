"""A window over a longer list: where it starts, and its scrollbar."""

from __future__ import annotations

from .lines import Line

_THUMB, _TRACK = "▐", " "


def window_start(selected: int, start: int, size: int, total: int) -> int:
    """The first of `size` rows to show of `total`: as near to `start` as `selected` allows."""
    start = min(max(start, selected - size + 1), selected)
    return max(0, min(start, total - size))


def scrollbar(start: int, size: int, total: int, height: int) -> list[Line]:
    """One cell for each of `height` rows; blank where everything fits."""
    if total <= size or height < 1:
        return [[(_TRACK, "text")] for _ in range(height)]
    thumb = max(1, round(height * size / total))
    first = round((height - thumb) * start / (total - size))
    return [
        [(_THUMB, "focus") if first <= y < first + thumb else ("│", "faint")] for y in range(height)
    ]
