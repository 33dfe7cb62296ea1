"""A task for memory and images: name, at the end of an episode, the image shown at its start.

Observations are images of 7 x 7 bytes. The first shows one of four bars, in any place. Then a dot
wanders, and in the last step, whose image is framed, the action that names the bar pays 1.
Without memory one of four episodes is right. The delayed responses of working-memory tasks, as in
the T-maze of Bakker 2001, "Reinforcement learning with long short-term memory", with images.
"""

from __future__ import annotations

import numpy as np
from numpy import float32

from ..jit.streams import uniform
from ..spaces import Discrete
from .spec import EnvSpec

SIDE, NUM_BARS = 7, 4
NUM_STEPS = 10  # of every episode
WHITE = 255

ZERO, ONE = float32(0.0), float32(1.0)
BARS, PLACES, CELLS = float32(NUM_BARS), float32(SIDE - 2), float32(SIDE * SIDE)

BAR, ROW, COLUMN, DOT, STEP = range(5)  # the bar, its top left cell, and the dot's first cell


def reset(state, env, random):
    """Draw a bar, its place, and where the dot begins. A float32 just below a whole number may be
    rounded up to it: the smaller counts.
    """
    state[BAR, env] = min(np.floor(uniform(random, 0, ZERO, BARS)), BARS - ONE)
    state[ROW, env] = min(np.floor(uniform(random, 1, ZERO, PLACES)), PLACES - ONE)
    state[COLUMN, env] = min(np.floor(uniform(random, 2, ZERO, PLACES)), PLACES - ONE)
    state[DOT, env] = min(np.floor(uniform(random, 3, ZERO, CELLS)), CELLS - ONE)
    state[STEP, env] = ZERO


def step(state, env, action):
    """Returns (reward, terminated)."""
    is_last = state[STEP, env] == float32(NUM_STEPS - 1)
    is_right = action == int(state[BAR, env])
    state[STEP, env] += ONE
    return (ONE if is_last and is_right else ZERO), is_last


def observe(state, env, obs):
    """The bar, lying, standing or one of two diagonals; a dot; or a dot within a frame."""
    bar, number = int(state[BAR, env]), int(state[STEP, env])
    dot = (int(state[DOT, env]) + 17 * number) % (SIDE * SIDE)
    for cell in range(SIDE * SIDE):
        row, column = cell // SIDE, cell % SIDE
        i, j = row - int(state[ROW, env]), column - int(state[COLUMN, env])
        is_near = i >= 0 and i <= 2 and j >= 0 and j <= 2
        is_bar = (
            (bar == 0 and i == 1)
            or (bar == 1 and j == 1)
            or (bar == 2 and i == j)
            or (bar == 3 and i + j == 2)
        )
        is_edge = row == 0 or column == 0 or row == SIDE - 1 or column == SIDE - 1
        is_lit = is_near and is_bar if number == 0 else cell == dot
        is_framed = number == NUM_STEPS - 1 and is_edge
        obs[env, cell] = WHITE if is_lit or is_framed else 0


SPEC = EnvSpec(
    name="ImageRecall",
    state_size=5,
    obs_size=SIDE * SIDE,
    actions=Discrete(NUM_BARS),
    max_episode_steps=NUM_STEPS,
    reset=reset,
    step=step,
    observe=observe,
    obs_type=np.uint8,
    obs_shape=(SIDE, SIDE),
    obs_range=(0.0, float(WHITE)),
)
