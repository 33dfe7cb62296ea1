"""A film of one episode, before it is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...shared.episodes.scene import Frame, Scene
from .projection import Projection

MARGIN, HEAD = 8, 26  # pixels


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
