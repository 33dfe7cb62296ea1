"""Asterix: touch the gold and avoid the enemies; both cross the grid in its rows."""

from __future__ import annotations

from numpy import float32, int32

from .bindings import draw_integer, draw_real
from .common import (
    DOWN,
    LAST,
    LEFT,
    NOTHING,
    OWN,
    RAMPING,
    RIGHT,
    SIDE,
    UP,
    begin_step,
    blank,
    fall,
    mark,
    sideways,
    upright,
    whole,
    within,
)

CHANNELS = {"player": "body", "enemy": "obstacle", "trail": "trail", "gold": "goal"}
MINIMAL_ACTIONS = (NOTHING, LEFT, UP, RIGHT, DOWN)
HAS_RAMPING = True

(
    ROW,
    COLUMN,  # of the player
    SPAWN_INTERVAL,
    SPAWN_TIMER,
    MOVE_INTERVAL,
    MOVE_TIMER,
    RAMP_TIMER,
    RAMP_INDEX,
    SLOTS,  # of rows 1 to 8: 0, or 1 + the column, + FROM_LEFT and GOLD where they apply
) = range(OWN, OWN + 9)
NUM_SLOTS = 8
STATE_SIZE = SLOTS + NUM_SLOTS
COLUMNS, FROM_LEFT, GOLD = 15, 16, 32  # bits of a slot
ONE_HALF, ONE_THIRD = float32(1 / 2), float32(1 / 3)
RAMP_STEPS = 100


def reset(state, env):
    """Begin an episode: the player is in the middle of an empty grid."""
    state[ROW, env] = state[COLUMN, env] = 5
    state[SPAWN_INTERVAL, env] = state[SPAWN_TIMER, env] = 10
    state[MOVE_INTERVAL, env] = state[MOVE_TIMER, env] = 5
    state[RAMP_TIMER, env] = RAMP_STEPS
    state[RAMP_INDEX, env] = 0
    for slot in range(NUM_SLOTS):
        state[SLOTS + slot, env] = 0


def step(state, env, action):
    """A new thing appears, the player moves, then the things move. Returns (reward, terminated)."""
    done = begin_step(state, env, action)
    if state[SPAWN_TIMER, env] == 0:
        spawn(state, env)
        state[SPAWN_TIMER, env] = state[SPAWN_INTERVAL, env]
    column = within(whole(state, env, COLUMN) + sideways(done), 0, LAST)
    row = within(whole(state, env, ROW) + upright(done), 1, NUM_SLOTS)
    state[ROW, env], state[COLUMN, env] = row, column

    reward, terminated = touch(state, env)
    if state[MOVE_TIMER, env] == 0:
        state[MOVE_TIMER, env] = state[MOVE_INTERVAL, env]
        for slot in range(NUM_SLOTS):
            move(state, env, SLOTS + slot)
        more, is_hit = touch(state, env)
        reward, terminated = reward + more, terminated or is_hit
    state[SPAWN_TIMER, env] -= 1
    state[MOVE_TIMER, env] -= 1
    if state[RAMPING, env] > 0:
        ramp(state, env)
    return float32(reward), terminated


def spawn(state, env):
    """Put a new thing at an edge, if a slot is empty."""
    thing = 1 + FROM_LEFT if draw_real(state, env) < ONE_HALF else 1 + LAST
    if draw_real(state, env) < ONE_THIRD:
        thing += GOLD
    num_empty = 0
    for slot in range(NUM_SLOTS):
        num_empty += 1 if state[SLOTS + slot, env] == 0 else 0
    if num_empty > 0:
        left = draw_integer(state, env, 0, num_empty - 1)
        for slot in range(NUM_SLOTS):
            if state[SLOTS + slot, env] == 0:
                if left == 0:
                    state[SLOTS + slot, env] = thing
                left -= 1


def touch(state, env):
    """Contact with the thing in the player's cell; a row holds at most one. Returns (reward,
    terminated).
    """
    field = SLOTS + whole(state, env, ROW) - 1
    thing = whole(state, env, field)
    if thing & COLUMNS != whole(state, env, COLUMN) + 1:
        return 0, False
    if thing & GOLD:
        state[field, env] = 0
        return 1, False
    return 0, True


def move(state, env, field):
    """Move the thing of a slot. A thing that leaves the grid empties the slot."""
    thing = whole(state, env, field)
    if thing > 0:
        thing += 1 if thing & FROM_LEFT else -1
        is_inside = 0 < thing & COLUMNS <= SIDE
        state[field, env] = thing if is_inside else int32(0)


def ramp(state, env):
    """Shorten both intervals until they are 1, the interval of moves half as often."""
    if state[SPAWN_INTERVAL, env] <= 1 and state[MOVE_INTERVAL, env] <= 1:
        return
    if state[RAMP_TIMER, env] >= 0:
        state[RAMP_TIMER, env] -= 1
        return
    if whole(state, env, RAMP_INDEX) % 2 == 1:
        fall(state, env, MOVE_INTERVAL, 1)
    fall(state, env, SPAWN_INTERVAL, 1)
    state[RAMP_INDEX, env] += 1
    state[RAMP_TIMER, env] = RAMP_STEPS


def observe(state, env, obs):
    """Show everything except timers and intervals."""
    blank(obs, env)
    mark(obs, env, whole(state, env, ROW), whole(state, env, COLUMN), 0)
    for slot in range(NUM_SLOTS):
        thing = whole(state, env, SLOTS + slot)
        if thing > 0:
            column = (thing & COLUMNS) - 1
            behind = column - 1 if thing & FROM_LEFT else column + 1
            mark(obs, env, slot + 1, column, 3 if thing & GOLD else 1)
            if 0 <= behind <= LAST:
                mark(obs, env, slot + 1, behind, 2)
