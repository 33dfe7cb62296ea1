"""Random streams that depend on nothing but the seed, the environment and its episode.

Philox4x32-10: a keyed bijection of a counter, so any draw is computed from its place alone and no
state is shared. Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

# Streams of one seed that have nothing in common.
TRAINING, EVALUATION, ACTIONS, ORDERS, REPLAY, UPDATES = range(6)

_ROUNDS = 10
_MULTIPLY_0, _MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEP_0, _KEY_STEP_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_QUARTER = np.uint64(16)
_DROP = np.uint64(8)  # 24 bits are what float32 holds
_UNIT = np.float32(2**-24)
_FINE_DROP = np.uint64(11)  # 53 bits are what float64 holds
_FINE_UNIT = 2.0**-53


class RandomSource(NamedTuple):
    """Where environments have their random numbers from: column i of a vector environment is number
    `first_env` + i of all that share a seed and a stream, on whatever machines they are.
    """

    seed: Any  # uint64
    stream: Any  # uint64
    first_env: Any  # int64

    @classmethod
    def of(cls, seed: int, stream: int, first_env: int = 0) -> RandomSource:
        return cls(np.uint64(seed), np.uint64(stream), np.int64(first_env))


@njit(inline="always")
def philox(counter_0, counter_1, counter_2, counter_3, key_0, key_1):
    """The four 32-bit words that belong to this counter and key, as uint64."""
    for _ in range(_ROUNDS):
        product_0 = counter_0 * _MULTIPLY_0
        product_1 = counter_2 * _MULTIPLY_1
        counter_0 = (product_1 >> _HALF) ^ counter_1 ^ key_0
        counter_1 = product_1 & _LOW
        counter_2 = (product_0 >> _HALF) ^ counter_3 ^ key_1
        counter_3 = product_0 & _LOW
        key_0 = (key_0 + _KEY_STEP_0) & _LOW
        key_1 = (key_1 + _KEY_STEP_1) & _LOW
    return counter_0, counter_1, counter_2, counter_3


@njit(inline="always")
def uniform(random, draw, low, high):
    """Number `draw`, from 0, of an episode: a float32 in [low, high).

    `random` is (number of the environment, of its episode, seed, stream). Four draws share one
    computation where `draw` is written out as a number.
    """
    env, episode, seed, stream = random
    words = _words(np.uint64(draw >> 2), np.uint64(episode), env, seed, stream)
    # Chosen by arithmetic: a tuple's item cannot be taken by a variable.
    first = words[1] if draw & 1 else words[0]
    second = words[3] if draw & 1 else words[2]
    return low + (high - low) * _fraction(second if draw & 2 else first)


@njit(inline="always")
def four_words(random, block):
    """The four 32-bit words, as uint64, of the draws 4 `block` and on of an episode."""
    env, episode, seed, stream = random
    return _words(np.uint64(block), np.uint64(episode), env, seed, stream)


@njit(inline="always")
def uniform_at(random, draw):
    """A float32 in [0, 1) for a policy: draw number `draw`, below 65,536, of one env step.

    `random` is (number of the step over all episodes of its row, number of the row, seed), where an
    environment has as many rows as agents.
    """
    step, row, seed = random
    step = np.uint64(step)
    high_word = (np.uint64(draw) << _QUARTER) | (step >> _HALF)
    return unit(step & _LOW, high_word, row, seed, ACTIONS)


@njit(inline="always")
def unit(counter_0, counter_1, env, seed, stream):
    """A float32 in [0, 1) that belongs to these numbers."""
    return _fraction(_words(counter_0, counter_1, env, seed, stream)[0])


@njit(inline="always")
def fine_unit(counter_0, counter_1, env, seed, stream):
    """A float64 in [0, 1) with all its 53 bits that belongs to these numbers."""
    words = _words(counter_0, counter_1, env, seed, stream)
    return np.float64(np.int64((words[0] << _HALF | words[1]) >> _FINE_DROP)) * _FINE_UNIT


@njit(inline="always")
def _words(counter_0, counter_1, env, seed, stream):
    seed = np.uint64(seed)
    return philox(
        counter_0, counter_1, np.uint64(env), np.uint64(stream), seed & _LOW, seed >> _HALF
    )


@njit(inline="always")
def _fraction(word):
    """The upper 24 bits of a word as a float32 in [0, 1)."""
    return np.float32(np.int32(word >> _DROP)) * _UNIT
