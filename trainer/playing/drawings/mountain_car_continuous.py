"""The same valley, and a flag that is a little nearer."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ....shared.episodes.scene import Scene
from ...envs.mountain_car import POSITION
from ...envs.mountain_car_continuous import FLAG
from .mountain_car import valley


def scene(spec: object, states: NDArray[Any], selected: int) -> Scene:
    return valley(float(states[-1, POSITION]), float(FLAG))
