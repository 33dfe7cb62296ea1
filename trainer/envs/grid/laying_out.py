"""Where everything is when an episode begins."""

from __future__ import annotations

from numpy import float32, int64

from ..streams import uniform
from .bindings import first_cell, first_told, height, num_agents, stride, width
from .kinds import AGENT, ALTAR, EMPTY, GENERATOR, MINE, OUTSIDE, REACH, WALL
from .layout import (
    ABOVE,
    CELL,
    KINDS,
    NUM_ALTARS,
    NUM_GENERATORS,
    NUM_MAPS,
    NUM_MINES,
    NUM_WALLS,
    agent_row,
)

ZERO, ONE = float32(0.0), float32(1.0)
PATIENT = 100  # draws for one thing before the next free cell is taken
OF_MAPS = int64(2**40)  # the episode that maps of a pool are drawn in


def draw_map(state, env, random):
    """Walls around, and all else on cells of their own, drawn anywhere within."""
    number = int64(state[NUM_MAPS, env])
    if number > 0:  # of a pool: the same for all environments of a seed
        chosen = int64(uniform(random, 0, ZERO, float32(number)))
        random = (chosen, OF_MAPS, random[-2], random[-1])
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
    """Walls around, and nothing within."""
    for row in range(-REACH, height + REACH):
        is_outside = row < 0 or row >= height
        is_edge = row == 0 or row == height - 1
        for column in range(-REACH, width + REACH):
            kind = WALL if is_edge or column == 0 or column == width - 1 else EMPTY
            if is_outside or column < 0 or column >= width:
                kind = OUTSIDE
            state[first_cell + place_of(row, column), env] = float32(kind)


def place_of(row, column):
    """The number of a cell in the list."""
    return (row + REACH) * stride + column + REACH


def place(state, env, random, draw, count, kind):
    """Put `count` things of a kind on free cells; returns the next draw."""
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
    """A thing on a cell; agents have numbers."""
    if kind == AGENT:
        state[agent_row(number) + CELL, env] = float32(place)
        state[first_cell + place, env] = float32(AGENT + (number << ABOVE))
    else:
        state[first_cell + place, env] = float32(kind)


def copy_map(state, env, random):
    """What the map tells, agents numbered in the order of reading."""
    clear(state, env)
    number = 0
    for row in range(height):
        for column in range(width):
            kind = int(state[first_told + row * width + column, env]) % KINDS
            put(state, env, place_of(row, column), kind, number)
            number += 1 if kind == AGENT else 0
