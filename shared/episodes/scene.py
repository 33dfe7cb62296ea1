"""The view of an episode: shapes in the environment's units, or a frame of pixels.

Environments give a shape a `role`; the code that draws it chooses colours, sizes and marks.
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
    "ground",  # fixed parts of the world
    "body",  # the controlled body
    "part",  # of a body: a pole, a link
    "force",  # the policy's action
    "goal",
    "obstacle",
    "current",
    "range",  # how far the selected agent sees
    "trail",  # the path of a body
    "retired",  # agents that no longer take part
    "note",
)
_BARB_FRACTION, _BARB_RAD = 0.35, 2.6


class Shape(NamedTuple):
    """A shape with `points` [P, 2], x to the right and y upwards; a row of NaN interrupts a line.
    Circles and discs have their centres at the points; a text begins at the first. `agent` is the
    number of the agent that it belongs to, or -1.
    """

    kind: Kind
    points: Points
    role: str
    radius: float = 0.0
    text: str = ""
    agent: int = -1


@dataclass(frozen=True)
class Scene:
    """Shapes, later ones in front, and the visible part of the world: x from `low[0]` to `high[0]`,
    y from `low[1]` to `high[1]`. Both axes have one scale, unless `is_stretched`.

    `endings` has one text per agent: how its episode ended, "" while it continues.
    """

    low: tuple[float, float]
    high: tuple[float, float]
    shapes: tuple[Shape, ...]
    is_stretched: bool = False
    endings: tuple[str, ...] = ()


class Frame(NamedTuple):
    """An image drawn by the environment: `pixels` [height, width, 3], uint8."""

    pixels: NDArray[np.uint8]


@dataclass(frozen=True)
class Moment:
    """An episode after `step` env steps. `returns` [A] are the agents' sums of rewards so far,
    `endings` [A] how their episodes ended, "" while they continue. `is_over`: all have ended.
    """

    view: Scene | Frame
    step: int
    returns: tuple[float, ...]
    endings: tuple[str, ...]
    is_over: bool


class Episodes(Protocol):
    """Episodes of one environment, played one after the other by a policy.

    `env` is the environment's name, `seed` the first seed. Episode `number`, from 0, of a seed is
    always the same. If `num_episodes` is given, there are only so many, of that seed alone.
    """

    env: str
    seed: int
    num_agents: int
    num_episodes: int | None

    def begin(self, seed: int, number: int) -> None:
        """Begin an episode; the current one is dropped."""

    def step(self) -> bool:
        """Play one env step, unless the episode is over; returns whether it is."""

    def moment(self, selected: int) -> Moment:
        """The current state, as agent `selected` sees it if agents see different things."""

    def close(self) -> None:
        """Close the environment."""


def points_of(points: Iterable[Any]) -> Points:
    """Points [P, 2] from pairs."""
    return np.asarray(points, np.float64).reshape(-1, 2)


def line(points: Iterable[Any], role: str, agent: int = -1) -> Shape:
    """A line from point to point."""
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
    """An upright cross, `size` from its middle to its ends."""
    lift = (math.nan, math.nan)
    ends = [(x - size, y), (x + size, y), lift, (x, y - size), (x, y + size)]
    return line(ends, role, agent)


def arrows(tails: Any, vectors: Any, role: str, agent: int = -1) -> Shape:
    """Arrows from `tails` [A, 2] along `vectors` [A, 2]."""
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
