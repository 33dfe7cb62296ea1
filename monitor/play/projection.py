"""Films of episodes, and the projection of a world into dots or pixels, the first row above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...shared.episodes.scene import Frame, Points, Scene

MARGIN, HEAD = 8, 26  # of a film, in pixels


@dataclass(frozen=True)
class Projection:
    """`scale` dots a unit along x and y, and where the world's origin is, in dots."""

    scale: tuple[float, float]
    origin: tuple[float, float]

    @classmethod
    def of(cls, scene: Scene, width: int, height: int) -> Projection:
        """Show all of the scene's part of the world in the middle of `width` by `height`."""
        (x0, y0), (x1, y1) = scene.low, scene.high
        across, up = (width - 1) / (x1 - x0), (height - 1) / (y1 - y0)
        if not scene.is_stretched:
            across = up = min(across, up)
        left = (width - 1 - across * (x1 - x0)) / 2
        above = (height - 1 - up * (y1 - y0)) / 2
        return cls((across, up), (left - across * x0, above + up * y1))

    def places(self, points: Points) -> Points:
        """`points` [P, 2] of the world in dots from the left and from above, not rounded."""
        placed: Points = points * (self.scale[0], -self.scale[1]) + self.origin
        return placed

    def length(self, radius: float) -> float:
        """A radius in dots; only where both axes have one scale."""
        return radius * self.scale[0]


def outline(center: Points, radius: float, num_points: int) -> Points:
    """A closed polygon around `center` [2], in whatever units."""
    angles = np.linspace(0, 2 * np.pi, num_points + 1)
    around: Points = np.stack([np.cos(angles), np.sin(angles)], 1) * radius + center
    return around


class Shot(NamedTuple):
    """A moment, and what stands above it."""

    view: Scene | Frame
    caption: str


class Film(NamedTuple):
    """Moments of one episode as they come, `fps` of them a second, all with the same kind of view.
    `size` is that of what is to be seen, in pixels.
    """

    shots: Iterator[Shot]
    fps: float
    size: tuple[int, int]
    colors: dict[str, str]  # of styles, #rrggbb

    @property
    def background(self) -> str:
        return self.colors["background"]

    def projection(self, scene: Scene) -> Projection:
        """The projection of the scene into `size`, with a margin."""
        width, height = self.size
        inner = Projection.of(scene, width - 2 * MARGIN, height - 2 * MARGIN)
        return Projection(inner.scale, (inner.origin[0] + MARGIN, inner.origin[1] + MARGIN))
