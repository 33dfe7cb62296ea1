"""Breakout: a ball breaks three rows of bricks, and a paddle keeps it in the grid."""

from __future__ import annotations

from numpy import float32

from .bindings import draw_integer
from .common import (
    LAST,
    LEFT,
    NOTHING,
    OWN,
    RIGHT,
    begin_step,
    blank,
    mark,
    mark_bits,
    sideways,
    whole,
    within,
)

CHANNELS = {"paddle": "body", "ball": "goal", "trail": "trail", "brick": "obstacle"}
MINIMAL_ACTIONS = (NOTHING, LEFT, RIGHT)
HAS_RAMPING = False

(
    PADDLE,  # its column
    ROW,
    COLUMN,  # of the ball
    DOWNWARDS,
    RIGHTWARDS,  # the ball's heading, each 1 or -1
    TRAIL_ROW,
    TRAIL_COLUMN,
    STRIKING,
    BRICKS,  # three rows, each the bits of its columns
) = range(OWN, OWN + 9)
TOP_BRICKS, NUM_BRICK_ROWS = 1, 3  # the first row
STATE_SIZE = BRICKS + NUM_BRICK_ROWS
FULL = 2**10 - 1


def reset(state, env):
    """Begin an episode: the ball comes from the left or the right edge."""
    starts_right = draw_integer(state, env, 0, 1)
    state[PADDLE, env] = 4
    state[ROW, env] = state[TRAIL_ROW, env] = 3
    state[COLUMN, env] = state[TRAIL_COLUMN, env] = LAST * starts_right
    state[DOWNWARDS, env] = 1
    state[RIGHTWARDS, env] = 1 - 2 * starts_right
    state[STRIKING, env] = 0
    fill(state, env)


def fill(state, env):
    """Fill all rows of bricks."""
    for row in range(NUM_BRICK_ROWS):
        state[BRICKS + row, env] = FULL


def step(state, env, action):
    """Move the paddle, then the ball. Returns (reward, terminated)."""
    done = begin_step(state, env, action)
    paddle = within(whole(state, env, PADDLE) + sideways(done), 0, LAST)
    old_row, old_column = whole(state, env, ROW), whole(state, env, COLUMN)
    downwards, rightwards = whole(state, env, DOWNWARDS), whole(state, env, RIGHTWARDS)
    row, column = old_row + downwards, old_column + rightwards
    if column < 0 or column > LAST:
        column, rightwards = old_column, -rightwards

    reward, terminated, is_striking = 0, False, False
    if row < 0:
        row, downwards = old_row, -downwards
    elif is_brick(state, env, row, column):
        is_striking = True
        if state[STRIKING, env] == 0:
            reward = 1
            state[BRICKS + row - TOP_BRICKS, env] -= 1 << column
            row, downwards = old_row, -downwards
    elif row == LAST:
        if num_brick_rows(state, env) == 0:
            fill(state, env)
        if old_column == paddle:
            row, downwards = old_row, -downwards
        elif column == paddle:
            row, downwards, rightwards = old_row, -downwards, -rightwards
        else:
            terminated = True

    state[PADDLE, env] = paddle
    state[TRAIL_ROW, env], state[TRAIL_COLUMN, env] = old_row, old_column
    state[ROW, env], state[COLUMN, env] = row, column
    state[DOWNWARDS, env], state[RIGHTWARDS, env] = downwards, rightwards
    state[STRIKING, env] = 1 if is_striking else 0
    return float32(reward), terminated


def is_brick(state, env, row, column):
    if row < TOP_BRICKS or row >= TOP_BRICKS + NUM_BRICK_ROWS:
        return False
    return (whole(state, env, BRICKS + row - TOP_BRICKS) >> column & 1) == 1


def num_brick_rows(state, env):
    """The number of rows with a brick."""
    count = 0
    for row in range(NUM_BRICK_ROWS):
        count += 1 if state[BRICKS + row, env] > 0 else 0
    return count


def observe(state, env, obs):
    """Show everything except the heading (the trail shows it) and whether the ball is striking."""
    blank(obs, env)
    mark(obs, env, LAST, whole(state, env, PADDLE), 0)
    mark(obs, env, whole(state, env, ROW), whole(state, env, COLUMN), 1)
    mark(obs, env, whole(state, env, TRAIL_ROW), whole(state, env, TRAIL_COLUMN), 2)
    for row in range(NUM_BRICK_ROWS):
        mark_bits(obs, env, TOP_BRICKS + row, whole(state, env, BRICKS + row), 3)
