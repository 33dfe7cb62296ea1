"""Which panes of a run's screen stand where."""

from __future__ import annotations

from collections.abc import Sequence

# In the order of their digits, from 1.
PANES = ("charts", "time", "events", "machine", "console", "config", "media")
_MIN_WIDTH = 38  # cells of a pane below the charts
_MIN_HEIGHT = 14  # rows of a screen from which there is room below the charts


def toggled(wanted: Sequence[str], pane: str, is_shown: bool) -> tuple[str, ...]:
    """`wanted` without `pane` where that is shown, else with it as the latest choice."""
    others = tuple(name for name in wanted if name != pane)
    return others if is_shown else (pane, *others)


def shown_panes(
    wanted: Sequence[str], empty: Sequence[str], width: int, height: int
) -> tuple[str, ...]:
    """The panes to show of those `wanted`, latest choice first, from left to right.

    Those that are `empty` have nothing to say. Where not all have room, the latest choices do. A
    run that prints and has no charts has its console in their place.
    """
    if "charts" in empty:
        wanted = ("console", *(name for name in wanted if name != "charts"))
    below = [name for name in wanted if name != "charts" and name not in empty]
    room = max(1, width // _MIN_WIDTH)
    if height < _MIN_HEIGHT and "charts" in wanted:
        room = 0
    chosen = {*below[:room], *({"charts"} & set(wanted))}
    return tuple(name for name in PANES if name in chosen) or ("charts",)
