"""From a world's units to dots or pixels, the first row above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...shared.episodes.scene import Points, Scene


@dataclass(frozen=True)
class Projection:
    """`scale` dots a unit along x and y, and where the world's origin is, in dots."""

    scale: tuple[float, float]
    origin: tuple[float, float]

    @classmethod
    def of(cls, scene: Scene, width: int, height: int) -> Projection:
        """That shows all of the scene's part of the world in the middle of `width` by `height`."""
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
        """Of a radius, in dots; only where both axes have one scale."""
        return radius * self.scale[0]


def outline(center: Points, radius: float, num_points: int) -> Points:
    """A closed polygon around `center` [2], in whatever units."""
    angles = np.linspace(0, 2 * np.pi, num_points + 1)
    around: Points = np.stack([np.cos(angles), np.sin(angles)], 1) * radius + center
    return around
