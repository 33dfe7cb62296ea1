"""A MinAtar game as its observation shows it: a square in each cell, of the highest channel there,
and always the player's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import Scene, Shape, area, line
from ...envs.minatar import rules_of
from ...envs.minatar.common import LAST, SIDE
from ...envs.minatar.game import Functions, bound_functions

HALF = 0.45  # of a square's side; cells have side 1


def scene(spec: Any, states: NDArray[Any], selected: int) -> Scene:
    roles = rules_of(spec.game).CHANNELS.values()
    obs = np.zeros((1, spec.obs_size), np.float32)
    plain_functions(spec.game).observe(states[-1][:, None], 0, obs)
    cells = obs.reshape(SIDE, SIDE, len(roles))
    shapes = [
        square(row, column, role)
        for channel, role in enumerate(roles)
        for row, column in np.argwhere(cells[..., channel] > 0).tolist()
        if role == "body" or not cells[row, column, channel + 1 :].any()
    ]
    edge = corners(LAST / 2, LAST / 2, SIDE / 2)
    around = line([*edge, edge[0]], "ground")
    return Scene((-1, -1), (SIDE, SIDE), (around, *shapes))


@cache
def plain_functions(game: str) -> Functions:
    """A game's functions in plain Python: one picture is no reason to compile anything."""
    return bound_functions(game, False, lambda function: function)


def square(row: int, column: int, role: str) -> Shape:
    return area(corners(column, LAST - row, HALF), role)


def corners(x: float, y: float, half: float) -> list[tuple[float, float]]:
    return [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]
