"""Space Invaders: a cannon shoots at waves of aliens, which come closer and shoot back."""

from __future__ import annotations

from numpy import float32

from .common import (
    FIRE,
    LAST,
    LEFT,
    NOTHING,
    OWN,
    RAMPING,
    RIGHT,
    SIDE,
    begin_step,
    blank,
    fall,
    mark,
    mark_bits,
    sideways,
    whole,
    within,
)

CHANNELS = {
    "cannon": "body",
    "alien": "obstacle",
    "alien_left": "obstacle",
    "alien_right": "obstacle",
    "friendly_bullet": "force",
    "enemy_bullet": "current",
}
MINIMAL_ACTIONS = (NOTHING, LEFT, RIGHT, FIRE)
HAS_RAMPING = True

# The last three are ten rows each, of the bits of their columns.
CANNON, RIGHTWARDS, MOVE_INTERVAL, MOVE_TIMER, SHOT_TIMER, FIRE_TIMER, RAMP_INDEX = range(
    OWN, OWN + 7
)
ALIENS, BULLETS, ENEMY_BULLETS = range(RAMP_INDEX + 1, RAMP_INDEX + 1 + 3 * SIDE, SIDE)
STATE_SIZE = ENEMY_BULLETS + SIDE
WAVE_ROWS, WAVE = 4, 0b0011111100  # columns 2 to 7
SHOT_STEPS, FIRE_STEPS, SHORTEST_INTERVAL = 10, 5, 6
RIGHT_EDGE = 1 << LAST


def reset(state, env):
    """Begin an episode: the first wave goes left."""
    state[CANNON, env] = 5
    state[RIGHTWARDS, env] = 0
    state[MOVE_INTERVAL, env] = state[MOVE_TIMER, env] = 12
    state[SHOT_TIMER, env] = SHOT_STEPS
    state[FIRE_TIMER, env] = state[RAMP_INDEX, env] = 0
    for field in range(ALIENS, STATE_SIZE):
        state[field, env] = 0
    begin_wave(state, env)


def begin_wave(state, env):
    """Begin a wave of aliens."""
    for row in range(WAVE_ROWS):
        state[ALIENS + row, env] = WAVE


def step(state, env, action):
    """In turn: the cannon acts, bullets move, aliens move, an alien shoots, bullets hit. Returns
    (reward, terminated).
    """
    done = begin_step(state, env, action)
    cannon = whole(state, env, CANNON)
    if done == FIRE and state[FIRE_TIMER, env] == 0:
        put(state, env, BULLETS, LAST, cannon)
        state[FIRE_TIMER, env] = FIRE_STEPS
    cannon = within(cannon + sideways(done), 0, LAST)
    state[CANNON, env] = cannon
    rise(state, env, BULLETS)
    sink(state, env, ENEMY_BULLETS)
    terminated = is_at_cannon(state, env, ENEMY_BULLETS) or is_at_cannon(state, env, ALIENS)
    if state[MOVE_TIMER, env] == 0:
        terminated = move_aliens(state, env) or terminated
    if state[SHOT_TIMER, env] == 0:
        state[SHOT_TIMER, env] = SHOT_STEPS
        shoot(state, env)
    reward = hit_aliens(state, env)
    fall(state, env, FIRE_TIMER, 0)
    state[MOVE_TIMER, env] -= 1
    state[SHOT_TIMER, env] -= 1
    if columns_of(state, env) == 0:
        if state[RAMPING, env] > 0 and state[MOVE_INTERVAL, env] > SHORTEST_INTERVAL:
            state[MOVE_INTERVAL, env] -= 1
            state[RAMP_INDEX, env] += 1
        begin_wave(state, env)
    return float32(reward), terminated


def put(state, env, first, row, column):
    """Set the bit of a cell in a set."""
    state[first + row, env] = whole(state, env, first + row) | 1 << column


def rise(state, env, first):
    """Move a set one row up; the top one leaves the grid."""
    for row in range(LAST):
        state[first + row, env] = state[first + row + 1, env]
    state[first + LAST, env] = 0


def sink(state, env, first):
    """Move a set one row down; returns the row that left the grid."""
    lowest = state[first + LAST, env]
    for row in range(LAST, 0, -1):
        state[first + row, env] = state[first + row - 1, env]
    state[first, env] = 0
    return lowest


def is_at_cannon(state, env, first):
    """Whether a set contains the cannon's cell."""
    return (whole(state, env, first + LAST) >> whole(state, env, CANNON) & 1) == 1


def columns_of(state, env):
    """The bits of all columns with an alien."""
    bits = 0
    for row in range(SIDE):
        bits |= whole(state, env, ALIENS + row)
    return bits


def move_aliens(state, env):
    """Move all aliens sideways, or down at an edge. Returns whether that ends the episode."""
    state[MOVE_TIMER, env] = min(num_aliens(state, env), whole(state, env, MOVE_INTERVAL))
    goes_right = state[RIGHTWARDS, env] > 0
    terminated = False
    if columns_of(state, env) & (RIGHT_EDGE if goes_right else 1):
        state[RIGHTWARDS, env] = 0 if goes_right else 1
        lowest = sink(state, env, ALIENS)
        state[ALIENS, env] = lowest
        terminated = lowest > 0
    else:
        for row in range(SIDE):
            bits = whole(state, env, ALIENS + row)
            state[ALIENS + row, env] = bits << 1 if goes_right else bits >> 1
    return terminated or is_at_cannon(state, env, ALIENS)


def num_aliens(state, env):
    count = 0
    for row in range(SIDE):
        bits = whole(state, env, ALIENS + row)
        for column in range(SIDE):
            count += bits >> column & 1
    return count


def shoot(state, env):
    """The lowest alien of the column nearest to the cannon shoots; of two columns, the left one."""
    columns, cannon = columns_of(state, env), whole(state, env, CANNON)
    nearest, distance = -1, SIDE
    for column in range(SIDE):
        if columns >> column & 1 and abs(column - cannon) < distance:
            nearest, distance = column, abs(column - cannon)
    if nearest >= 0:
        lowest = 0
        for row in range(SIDE):
            if whole(state, env, ALIENS + row) >> nearest & 1:
                lowest = row
        put(state, env, ENEMY_BULLETS, lowest, nearest)


def hit_aliens(state, env):
    """Remove aliens and bullets that are in one cell. Returns the number of aliens removed."""
    count = 0
    for row in range(SIDE):
        aliens, bullets = whole(state, env, ALIENS + row), whole(state, env, BULLETS + row)
        hit = aliens & bullets
        if hit:
            state[ALIENS + row, env] = aliens - hit
            state[BULLETS + row, env] = bullets - hit
            for column in range(SIDE):
                count += hit >> column & 1
    return count


def observe(state, env, obs):
    """Show everything except timers and the interval."""
    blank(obs, env)
    mark(obs, env, LAST, whole(state, env, CANNON), 0)
    heading = 3 if state[RIGHTWARDS, env] > 0 else 2
    for row in range(SIDE):
        aliens = whole(state, env, ALIENS + row)
        mark_bits(obs, env, row, aliens, 1)
        mark_bits(obs, env, row, aliens, heading)
        mark_bits(obs, env, row, whole(state, env, BULLETS + row), 4)
        mark_bits(obs, env, row, whole(state, env, ENEMY_BULLETS + row), 5)
