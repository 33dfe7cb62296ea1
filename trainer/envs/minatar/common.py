"""Shared by all games: the grid, the first rows of the state, sticky actions, and marking cells.

All numbers in the state except the probability of sticky actions are integers below 2^24, which
float32 holds exactly.
"""

from __future__ import annotations

from numpy import int32

from .bindings import action_numbers, draw_real, num_channels

SIDE = 10  # rows and columns
LAST = SIDE - 1
NUM_CELLS = SIDE * SIDE

NOTHING, LEFT, UP, RIGHT, DOWN, FIRE = range(6)

# Rows of the state; those of the game follow. Resets leave the first three alone.
(
    STICKY,  # the probability, a setting
    RAMPING,  # 0 or 1, a setting
    PREVIOUS_ACTION,
    STEP,  # of the episode, from 1; 0 in its reset
    DRAW,  # number of the next draw in this step
    KEY,  # of the episode's draws, four parts
) = range(6)
OWN = KEY + 4


def begin_step(state, env, action):
    """Begin a step of the episode. Returns the action of the game for the policy's `action`, or the
    previous one if it sticks.
    """
    state[STEP, env] += 1
    state[DRAW, env] = 0
    done = action_numbers[action]
    if draw_real(state, env) < state[STICKY, env]:
        done = int32(state[PREVIOUS_ACTION, env])
    state[PREVIOUS_ACTION, env] = done
    return done


def whole(state, env, field):
    """A field of the state as an integer."""
    return int32(state[field, env])


def sideways(action):
    """The change of the column."""
    if action == LEFT:
        return -1
    return 1 if action == RIGHT else 0


def upright(action):
    """The change of the row."""
    if action == UP:
        return -1
    return 1 if action == DOWN else 0


def within(place, lowest, highest):
    return min(max(place, lowest), highest)


def blank(obs, env):
    """Begin an observation with all cells empty."""
    for k in range(NUM_CELLS * num_channels):
        obs[env, k] = 0


def mark(obs, env, row, column, channel, is_marked=True):
    """Mark a cell in a channel, or clear it."""
    obs[env, (row * SIDE + column) * num_channels + channel] = is_marked


def mark_bits(obs, env, row, bits, channel):
    """Mark the cells of a row whose bits are set."""
    column = 0
    while bits > 0:
        if bits & 1:
            mark(obs, env, row, column, channel)
        bits >>= 1
        column += 1


def fall(state, env, field, lowest):
    """Decrease a field by 1 if it is above `lowest`."""
    if state[field, env] > lowest:
        state[field, env] -= 1
