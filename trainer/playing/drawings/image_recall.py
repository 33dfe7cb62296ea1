"""The image that is shown: a square for each white cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import Scene, area, line
from ...envs.image_recall import SIDE
from .minatar import HALF, corners


def scene(spec: Any, states: NDArray[Any], selected: int) -> Scene:
    obs = np.zeros((1, SIDE * SIDE), np.uint8)
    spec.observe(states[-1][:, None], 0, obs)
    cells = np.argwhere(obs.reshape(SIDE, SIDE)).tolist()
    squares = [area(corners(column, SIDE - 1 - row, HALF), "body") for row, column in cells]
    edge = corners((SIDE - 1) / 2, (SIDE - 1) / 2, SIDE / 2)
    return Scene((-1, -1), (SIDE, SIDE), (line([*edge, edge[0]], "ground"), *squares))
