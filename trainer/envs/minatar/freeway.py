"""Freeway: a chicken crosses a road of eight lanes with a car in each."""

from __future__ import annotations

from numpy import float32

from .bindings import draw_integer, draw_real
from .common import (
    DOWN,
    LAST,
    NOTHING,
    OWN,
    SIDE,
    UP,
    begin_step,
    blank,
    fall,
    mark,
    upright,
    whole,
    within,
)

CHANNELS = {
    "chicken": "body",
    "car": "obstacle",
    "trail_1": "trail",
    "trail_2": "trail",
    "trail_3": "trail",
    "trail_4": "trail",
    "trail_5": "trail",
}
MINIMAL_ACTIONS = (NOTHING, UP, DOWN)
HAS_RAMPING = False

# Of cars, in rows 1 to 8, a list each; RIGHTWARDS is 1 or -1.
NUM_CARS = 8
ROW, MOVE_TIMER, CLOCK = range(OWN, OWN + 3)
COLUMNS, SPEEDS, RIGHTWARDS, TIMERS = range(CLOCK + 1, CLOCK + 1 + 4 * NUM_CARS, NUM_CARS)
STATE_SIZE = TIMERS + NUM_CARS
CHICKEN_COLUMN = 4
FIRST_TRAIL = 1  # the channel of trails is this + the speed
ONE_HALF = float32(1 / 2)


def reset(state, env):
    """Begin an episode: all cars are at the left edge."""
    draw_speeds(state, env)
    for car in range(NUM_CARS):
        state[COLUMNS + car, env] = 0
    state[ROW, env] = LAST
    state[MOVE_TIMER, env] = 3
    state[CLOCK, env] = 2500


def draw_speeds(state, env):
    """Draw the cars' speeds and directions, and set their timers. A large speed is slow."""
    for car in range(NUM_CARS):
        speed = draw_integer(state, env, 1, 5)
        state[SPEEDS + car, env] = state[TIMERS + car, env] = speed
    for car in range(NUM_CARS):
        state[RIGHTWARDS + car, env] = 1 if draw_real(state, env) > ONE_HALF else -1


def step(state, env, action):
    """Move the chicken, then the cars. Returns (reward, terminated)."""
    done = begin_step(state, env, action)
    if state[MOVE_TIMER, env] == 0 and upright(done) != 0:
        state[ROW, env] = within(whole(state, env, ROW) + upright(done), 0, LAST)
        state[MOVE_TIMER, env] = 3
    reward = 0
    if state[ROW, env] == 0:
        reward = 1
        draw_speeds(state, env)
        state[ROW, env] = LAST
    for car in range(NUM_CARS):
        hit(state, env, car)
        if state[TIMERS + car, env] == 0:
            state[TIMERS + car, env] = state[SPEEDS + car, env]
            column = whole(state, env, COLUMNS + car) + whole(state, env, RIGHTWARDS + car)
            state[COLUMNS + car, env] = (column + SIDE) % SIDE
            hit(state, env, car)
        else:
            state[TIMERS + car, env] -= 1
    fall(state, env, MOVE_TIMER, 0)
    state[CLOCK, env] -= 1
    return float32(reward), state[CLOCK, env] < 0


def hit(state, env, car):
    """A car in the chicken's cell sends it back."""
    if state[ROW, env] == car + 1 and state[COLUMNS + car, env] == CHICKEN_COLUMN:
        state[ROW, env] = LAST


def observe(state, env, obs):
    """Show everything except the timers and the clock."""
    blank(obs, env)
    mark(obs, env, whole(state, env, ROW), CHICKEN_COLUMN, 0)
    for car in range(NUM_CARS):
        column = whole(state, env, COLUMNS + car)
        behind = (column - whole(state, env, RIGHTWARDS + car) + SIDE) % SIDE
        mark(obs, env, car + 1, column, 1)
        mark(obs, env, car + 1, behind, FIRST_TRAIL + whole(state, env, SPEEDS + car))
