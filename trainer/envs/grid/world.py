"""One kind of grid world, and its functions with everything that they leave open bound."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compiling import compiled
from ...templates import rebound
from . import environment, observing
from .kinds import REACH, TOKEN_SIZE
from .laying_out import copy_map, draw_map
from .layout import AGENT_SIZE, WORLD_SIZE

FARTHEST = 26  # squared distance of cells in the window: its corners are not seen


class World(NamedTuple):
    """What the grid world is compiled for."""

    agents: int = 4
    height: int = 32
    width: int = 32
    tokens: int = 64
    ticks: int = 1000
    has_map: bool = False

    @property
    def name(self) -> str:
        """Tells it from all others."""
        told = "_map" if self.has_map else ""
        return f"grid_{self.agents}_{self.height}x{self.width}_{self.tokens}_{self.ticks}{told}"

    @property
    def stride(self) -> int:
        return self.width + 2 * REACH

    @property
    def first_rows(self) -> dict[str, int]:
        """Where in the state each list begins, and the size of all."""
        cells = WORLD_SIZE + self.agents * AGENT_SIZE
        told = cells + (self.height + 2 * REACH) * self.stride
        return {
            "first_agent": WORLD_SIZE,
            "first_cell": cells,
            "first_told": told,
            "state_size": told + self.height * self.width * self.has_map,
        }

    @property
    def obs_size(self) -> int:
        return self.tokens * TOKEN_SIZE


class Functions(NamedTuple):
    """As `EnvSpec` says."""

    reset: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]


@cache
def functions_of(world: World) -> Functions:
    """The scalar functions of a kind of world; those that they call are compiled."""
    made: dict[Any, Any] = {}
    step = environment.step_alone if world.agents == 1 else environment.step
    templates = environment.reset, step, observing.observe
    bound = bindings_of(world)
    return Functions(*(rebound(template, compiled, bound, made) for template in templates))


def bindings_of(world: World) -> dict[str, Any]:
    """What `bindings.py` leaves open."""
    rows, columns = window()
    stride = world.stride
    return {
        **world.first_rows,
        "num_agents": world.agents,
        "num_tokens": world.tokens,
        "height": world.height,
        "width": world.width,
        "stride": stride,
        "max_ticks": world.ticks,
        "steps_of_actions": np.array([0, -stride, stride, -1, 1], np.int32),
        "window_steps": (rows * stride + columns).astype(np.int32),
        "window_cells": ((rows + REACH) << 4 | (columns + REACH)).astype(np.uint8),
        "lay_out": copy_map if world.has_map else draw_map,
    }


def window() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of all cells that are seen, from the agent's own, nearest first; of those
    that are as far, in steps, in the order of reading.
    """
    rows, columns = (x.ravel() for x in np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1])
    is_seen = rows**2 + columns**2 <= FARTHEST
    rows, columns = rows[is_seen], columns[is_seen]
    order = np.lexsort((columns, rows, abs(rows) + abs(columns)))
    return rows[order], columns[order]
