"""The sizes that a grid world is compiled for, and its map at the start of an episode."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy import float32, int64
from numpy.typing import NDArray

from ...jit.streams import uniform
from .bindings import first_cell, first_map_cell, height, num_agents, stride, width
from .kinds import AGENT, ALTAR, EMPTY, GENERATOR, MINE, OUTSIDE, REACH, TOKEN_SIZE, WALL
from .layout import (
    ABOVE,
    AGENT_SIZE,
    CELL,
    KINDS,
    NUM_ALTARS,
    NUM_GENERATORS,
    NUM_MAPS,
    NUM_MINES,
    NUM_WALLS,
    WORLD_SIZE,
    agent_row,
)

ZERO, ONE = float32(0.0), float32(1.0)
PATIENT = 100  # draws for one thing before the next free cell is taken
MAP_EPISODE = int64(2**40)  # the episode whose draws make the maps of a pool


def draw_map(state, env, random):
    """Put walls around the map, and everything else on free cells drawn at random."""
    number = int64(state[NUM_MAPS, env])
    if number > 0:  # a pool of maps: the same for all environments of a seed
        chosen = int64(uniform(random, 0, ZERO, float32(number)))
        random = (chosen, MAP_EPISODE, random[-2], random[-1])
    else:
        random = (int64(random[-4]), int64(random[-3]), random[-2], random[-1])
    clear(state, env)
    draw = 4
    draw = place(state, env, random, draw, int(state[NUM_WALLS, env]), WALL)
    draw = place(state, env, random, draw, int(state[NUM_MINES, env]), MINE)
    draw = place(state, env, random, draw, int(state[NUM_GENERATORS, env]), GENERATOR)
    draw = place(state, env, random, draw, int(state[NUM_ALTARS, env]), ALTAR)
    place(state, env, random, draw, num_agents, AGENT)


def clear(state, env):
    """Put walls around the map, and nothing within."""
    for row in range(-REACH, height + REACH):
        is_outside = row < 0 or row >= height
        is_edge = row == 0 or row == height - 1
        for column in range(-REACH, width + REACH):
            kind = WALL if is_edge or column == 0 or column == width - 1 else EMPTY
            if is_outside or column < 0 or column >= width:
                kind = OUTSIDE
            state[first_cell + place_of(row, column), env] = float32(kind)


def place_of(row, column):
    """The place of a cell in the list of cells."""
    return (row + REACH) * stride + column + REACH


def place(state, env, random, draw, count, kind):
    """Put `count` things of one kind on free cells; returns the number of the next draw."""
    inner = (height - 2) * (width - 2)
    for number in range(count):
        cell = 0
        for _ in range(PATIENT):
            cell = int(uniform(random, draw, ZERO, float32(inner)))
            draw += 1
            if is_free(state, env, cell):
                break
        while not is_free(state, env, cell):
            cell = (cell + 1) % inner
        put(state, env, inner_place(cell), kind, number)
    return draw


def inner_place(cell):
    return place_of(1 + cell // (width - 2), 1 + cell % (width - 2))


def is_free(state, env, cell):
    return state[first_cell + inner_place(cell), env] == ZERO


def put(state, env, place, kind, number):
    """Put a thing on a cell; `number` is that of an agent."""
    if kind == AGENT:
        state[agent_row(number) + CELL, env] = float32(place)
        state[first_cell + place, env] = float32(AGENT + (number << ABOVE))
    else:
        state[first_cell + place, env] = float32(kind)


def copy_map(state, env, random):
    """Copy the map from the state; agents are numbered row by row."""
    clear(state, env)
    number = 0
    for row in range(height):
        for column in range(width):
            kind = int(state[first_map_cell + row * width + column, env]) % KINDS
            put(state, env, place_of(row, column), kind, number)
            number += 1 if kind == AGENT else 0


FARTHEST = 26  # squared distance of cells in the window: its corners are not seen


class World(NamedTuple):
    """The sizes that a grid world is compiled for."""

    agents: int = 4
    height: int = 32
    width: int = 32
    tokens: int = 64
    ticks: int = 1000
    has_map: bool = False

    @property
    def name(self) -> str:
        """A name that differs from those of all other worlds."""
        suffix = "_map" if self.has_map else ""
        return f"grid_{self.agents}_{self.height}x{self.width}_{self.tokens}_{self.ticks}{suffix}"

    @property
    def stride(self) -> int:
        return self.width + 2 * REACH

    @property
    def first_rows(self) -> dict[str, int]:
        """The rows of the state in which its lists begin, and the number of all rows."""
        cells = WORLD_SIZE + self.agents * AGENT_SIZE
        map_row = cells + (self.height + 2 * REACH) * self.stride
        return {
            "first_agent": WORLD_SIZE,
            "first_cell": cells,
            "first_map_cell": map_row,
            "state_size": map_row + self.height * self.width * self.has_map,
        }

    @property
    def obs_size(self) -> int:
        return self.tokens * TOKEN_SIZE


def bindings_of(world: World) -> dict[str, Any]:
    """The values of the names in `bindings.py`."""
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
    """Rows and columns of all visible cells relative to the agent's, sorted by distance in steps,
    then row by row.
    """
    rows, columns = (x.ravel() for x in np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1])
    is_seen = rows**2 + columns**2 <= FARTHEST
    rows, columns = rows[is_seen], columns[is_seen]
    order = np.lexsort((columns, rows, abs(rows) + abs(columns)))
    return rows[order], columns[order]
