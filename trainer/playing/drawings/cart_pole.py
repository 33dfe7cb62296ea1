"""A cart on its track, the pole, and where the cart may not go."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ....shared.episodes.scene import Scene, area, disc, line, rod, turned
from ...envs.cart_pole import ANGLE_RAD, HALF_POLE_M, POSITION_M, TRACK_HALF_WIDTH_M

CART = ((-0.25, -0.12), (0.25, -0.12), (0.25, 0.12), (-0.25, 0.12))


def scene(spec: object, states: NDArray[Any], selected: int) -> Scene:
    x, angle, edge = states[-1, POSITION_M], states[-1, ANGLE_RAD], float(TRACK_HALF_WIDTH_M)
    pole = turned([(0, 0), (0, 2 * HALF_POLE_M)], -angle, x, 0)
    marks = [line([(side, -0.25), (side, 0.1)], "obstacle") for side in (-edge, edge)]
    shapes = (
        line([(-edge - 0.3, -0.12), (edge + 0.3, -0.12)], "ground"), *marks,
        area(turned(CART, 0, x, 0), "body"),
        rod(pole[0], pole[1], 0.06, "part"), disc(pole[1], 0.05, "part"),
    )  # fmt: skip
    return Scene((-edge - 0.3, -0.4), (edge + 0.3, 1.3), shapes)
