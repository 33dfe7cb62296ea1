"""How the roles of shapes look: the style of a terminal, and whether they are only hinted at."""

from __future__ import annotations

from typing import NamedTuple

from ...shared.episodes.scene import Shape
from ..render.palette import DARK

_STYLES = {
    "ground": "border",
    "body": "done",
    "part": "strong",
    "force": "series1",
    "goal": "good",
    "obstacle": "error",
    "current": "border",
    "range": "dim",
    "trail": "quiet",
    "retired": "border",
    "note": "dim",
}
_OF_AN_AGENT = ("body", "goal", "trail")  # which have the agent's own colour
_HINTS = ("range", "trail")  # drawn with gaps
# Colours of the palette's series: none is as red as obstacles, and neighbours differ.
_AGENT_SERIES = (2, 1, 0, 3, 4, 6, 5, 7)


class Look(NamedTuple):
    """A style of the palette; a hint is drawn with gaps."""

    style: str
    is_hint: bool


def look_of(shape: Shape) -> Look:
    """The look of a shape, by its role and owner."""
    return Look(_style(shape), shape.role in _HINTS)


def agent_style(agent: int) -> str:
    """The colour of an agent."""
    return f"series{_AGENT_SERIES[agent % len(_AGENT_SERIES)]}"


def _style(shape: Shape) -> str:
    if shape.agent >= 0 and shape.role in _OF_AN_AGENT:
        return agent_style(shape.agent)
    return _STYLES.get(shape.role, "text")


assert len(_AGENT_SERIES) == len(DARK.series)
