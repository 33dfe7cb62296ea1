"""What is to be seen of an episode: shapes in an environment's own units, or a frame of pixels.

Environments say what is there by its `role`; whoever draws it chooses colours, sizes and marks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Kind = Literal["line", "area", "circle", "disc", "text"]

ROLES = (
    "ground",  # what does not move and is not acted on
    "body",  # what is acted on
    "part",  # of a body: a pole, a link
    "force",  # what the policy does
    "goal",
    "obstacle",
    "current",
    "range",  # how far the selected agent sees
    "trail",  # where it was
    "retired",  # what no longer takes part
    "note",
)
_BARB_FRACTION, _BARB_RAD = 0.35, 2.6


class Shape(NamedTuple):
    """`points` [P, 2], x to the right and y upwards; a row of NaN lifts the pen of a line. Circles
    and discs are around each point; a text begins at the first. `agent` is whose it is, or -1.
    """

    kind: Kind
    points: Points
    role: str
    radius: float = 0.0
    text: str = ""
    agent: int = -1


@dataclass(frozen=True)
class Scene:
    """Shapes, what comes later in front, and the part of the world that is shown: x from `low[0]`
    to `high[0]`, y likewise. Both axes have one scale, unless `is_stretched`.

    `endings` tells for each agent how its episode ended, "" while it goes on.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    shapes: tuple[Shape, ...]
    is_stretched: bool = False
    endings: tuple[str, ...] = ()


class Frame(NamedTuple):
    """What an environment drew itself: `pixels` [height, width, 3], uint8."""

    pixels: NDArray[np.uint8]


@dataclass(frozen=True)
class Moment:
    """An episode after `step` env steps. `returns` are the agents' rewards so far, `endings` how
    each one's episode ended, "" while it goes on; nothing more happens once it `is_over` for all.
    """

    view: Scene | Frame
    step: int
    returns: tuple[float, ...]
    endings: tuple[str, ...]
    is_over: bool


class Episodes(Protocol):
    """Episodes of one environment, one after the other, each played by a policy.

    `env` is the environment's name, `seed` the one to begin with. Episode `number`, from 0, of a
    seed is always the same. Where there are `num_episodes`, they are of that seed alone.
    """

    env: str
    seed: int
    num_agents: int
    num_episodes: int | None

    def begin(self, seed: int, number: int) -> None:
        """Leave whatever was played; begin an episode."""

    def step(self) -> bool:
        """Play one env step; returns whether the episode is over. Nothing where it was."""

    def moment(self, selected: int) -> Moment:
        """How things stand, as agent `selected` sees them where that differs."""

    def close(self) -> None:
        """Let go of the environment."""


def points_of(points: Iterable[Any]) -> Points:
    """[P, 2] from pairs."""
    return np.asarray(points, np.float64).reshape(-1, 2)


def line(points: Iterable[Any], role: str, agent: int = -1) -> Shape:
    """From point to point."""
    return Shape("line", points_of(points), role, agent=agent)


def area(points: Iterable[Any], role: str, agent: int = -1) -> Shape:
    """A filled polygon."""
    return Shape("area", points_of(points), role, agent=agent)


def circle(center: Any, radius: float, role: str, agent: int = -1) -> Shape:
    return Shape("circle", points_of(center), role, float(radius), agent=agent)


def disc(center: Any, radius: float, role: str, agent: int = -1) -> Shape:
    """A filled circle."""
    return Shape("disc", points_of(center), role, float(radius), agent=agent)


def rod(begin: Any, end: Any, width: float, role: str, agent: int = -1) -> Shape:
    """A straight bar between two points."""
    (x1, y1), (x2, y2) = begin, end
    share = width / 2 / (math.hypot(x2 - x1, y2 - y1) or 1.0)
    dx, dy = share * (y1 - y2), share * (x2 - x1)
    corners = [(x1 + dx, y1 + dy), (x2 + dx, y2 + dy), (x2 - dx, y2 - dy), (x1 - dx, y1 - dy)]
    return area(corners, role, agent)


def text(x: float, y: float, words: str, role: str = "note", agent: int = -1) -> Shape:
    return Shape("text", points_of([(x, y)]), role, text=words, agent=agent)


def cross(x: float, y: float, size: float, role: str, agent: int = -1) -> Shape:
    """An upright cross, `size` from its middle to each end."""
    lift = (math.nan, math.nan)
    ends = [(x - size, y), (x + size, y), lift, (x, y - size), (x, y + size)]
    return line(ends, role, agent)


def arrows(tails: Any, vectors: Any, role: str, agent: int = -1) -> Shape:
    """From each of `tails` [A, 2] along its vector [A, 2], with a head at the end."""
    tails, vectors = points_of(tails), points_of(vectors)
    heads = tails + vectors
    turns = [
        np.array([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
        for a in (_BARB_RAD, -_BARB_RAD)
    ]
    left, right = (heads + _BARB_FRACTION * vectors @ turn for turn in turns)
    lifts = np.full_like(tails, np.nan)
    path = np.stack([tails, heads, left, heads, right, lifts], 1)
    return Shape("line", path.reshape(-1, 2), role, agent=agent)


def turned(points: Iterable[Any], angle_rad: float, x: float, y: float) -> Points:
    """`points` turned to the left about the origin, then moved to (x, y)."""
    sine, cosine = math.sin(angle_rad), math.cos(angle_rad)
    moved: Points = points_of(points) @ np.array([[cosine, sine], [-sine, cosine]]) + (x, y)
    return moved
