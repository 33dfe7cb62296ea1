"""A rod on its hinge; upright is the goal."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ....shared.episodes.scene import Scene, circle, cross, disc, line, rod, turned
from ...envs.pendulum import ANGLE_RAD, LENGTH_M


def scene(spec: object, states: NDArray[Any], selected: int) -> Scene:
    length = float(LENGTH_M)
    tips = [turned([(0, length)], angle, 0, 0)[0] for angle in states[-12:, ANGLE_RAD]]
    shapes = (
        cross(0, length, 0.08, "goal"), line(tips, "trail"), circle((0, 0), 0.06, "ground"),
        rod((0, 0), tips[-1], 0.05, "part"), disc(tips[-1], 0.09, "body"),
    )  # fmt: skip
    return Scene((-1.25, -1.25), (1.25, 1.25), shapes)
