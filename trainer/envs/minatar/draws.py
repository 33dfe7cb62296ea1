"""Random draws from a key in the state, because `step` does not get the episode's generator."""

from __future__ import annotations

from numpy import float32, int32, int64, uint64

from ...jit.streams import four_words, unit
from .common import DRAW, KEY, STEP

KEY_PARTS, PART_BITS = 4, 16  # float32 holds whole numbers of 24 bits


def begin_draws(state, env, random):
    """Draw a key for the episode and write it into the state."""
    words = four_words(random, 0)
    key = words[0] << uint64(32) | words[1]
    for part in range(KEY_PARTS):
        state[KEY + part, env] = int64((key >> uint64(PART_BITS * part)) & uint64(0xFFFF))
    state[STEP, env] = 0
    state[DRAW, env] = 0


def draw_real(state, env):
    """`bindings.draw_real`: a function of the key, the step, and the number of the draw in it."""
    key = uint64(0)
    for part in range(KEY_PARTS):
        key |= uint64(state[KEY + part, env]) << uint64(PART_BITS * part)
    draw = state[DRAW, env]
    state[DRAW, env] = draw + float32(1.0)
    return unit(uint64(state[STEP, env]), uint64(draw), uint64(0), key, uint64(0))


def draw_integer(state, env, low, high):
    """`bindings.draw_integer`, from one `draw_real`."""
    return low + int32(draw_real(state, env) * float32(high - low + 1))
