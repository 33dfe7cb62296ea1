"""Two links, and the line that the tip is to reach."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import Points, Scene, circle, disc, line, rod
from ...envs.acrobot import ANGLE_1_RAD, ANGLE_2_RAD, LINK_M


def joints(state: NDArray[Any]) -> Points:
    """The hinge, the joint between the links and the tip, [3, 2]."""
    first = state[ANGLE_1_RAD]
    both = first + state[ANGLE_2_RAD]
    links: list[list[float]] = [
        [0, 0],
        [math.sin(first), -math.cos(first)],
        [math.sin(both), -math.cos(both)],
    ]
    placed: Points = LINK_M * np.cumsum(links, 0)
    return placed


def scene(spec: object, states: NDArray[Any], selected: int) -> Scene:
    hinge, joint, tip = joints(states[-1])
    shapes = (
        line([(-2.2, LINK_M), (2.2, LINK_M)], "goal"),
        line([joints(state)[2] for state in states[-12:]], "trail"), circle(hinge, 0.08, "ground"),
        rod(hinge, joint, 0.08, "part"), rod(joint, tip, 0.08, "part"),
        disc(joint, 0.08, "body"), disc(tip, 0.08, "body"),
    )  # fmt: skip
    return Scene((-2.3, -2.3), (2.3, 2.3), shapes)
