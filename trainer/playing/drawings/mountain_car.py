"""A car in its valley, and the flag on the hill."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import Scene, area, disc, line, turned
from ...envs.mountain_car import FLAG, MAX_POSITION, MIN_POSITION, POSITION
from ...envs.mountain_car_continuous import FLAG as NEARER_FLAG

WHEELS_AT, WHEEL = (-0.035, 0.035), 0.02
CAR = ((-0.06, 0.035), (0.06, 0.035), (0.06, 0.07), (0.03, 0.1), (-0.03, 0.1), (-0.06, 0.07))


def height(x: Any) -> Any:
    """The height of the valley; the environment computes with its slope."""
    return np.sin(3 * x) * 0.45 + 0.55


def scene(spec: Any, states: NDArray[Any], selected: int) -> Scene:
    x = float(states[-1, POSITION])
    flag = float(NEARER_FLAG if "Continuous" in spec.name else FLAG)
    slope, top = math.atan(1.35 * math.cos(3 * x)), height(flag)
    ground = np.linspace(MIN_POSITION, MAX_POSITION, 100)
    wheels = turned([(at, WHEEL) for at in WHEELS_AT], slope, x, height(x))
    shapes = (
        line(np.column_stack([ground, height(ground)]), "ground"),
        line([(flag, top), (flag, top + 0.2)], "goal"),
        area([(flag, top + 0.2), (flag + 0.08, top + 0.165), (flag, top + 0.13)], "goal"),
        area(turned(CAR, slope, x, height(x)), "body"),
        *(disc(wheel, WHEEL, "part") for wheel in wheels),
    )
    return Scene((-1.25, 0.0), (0.65, 1.3), shapes)
