"""Random numbers are a pure function of seed, stream, environment, episode and draw."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from operant.trainer.envs.streams import EVALUATION, TRAINING, philox, uniform


@njit
def first_word(counter, key):
    return philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])


@njit
def draw(num_draws, env, episode, seed, stream):
    draws = np.zeros(env + 1, np.int64)
    numbers = np.empty(num_draws, np.float32)
    for i in range(num_draws):
        numbers[i] = uniform((draws, env, episode, seed, stream), np.float32(-1), np.float32(3))
    return numbers


@pytest.mark.parametrize(
    ("counter", "key", "word"),
    [
        ((0, 0, 0, 0), (0, 0), 0x6627E8D5),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, 0x408F276D),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), 0xD16CFE09),
    ],
)
def test_philox_gives_the_words_its_authors_published(counter, key, word):
    # Random123's known answers for philox4x32-10.
    assert first_word(np.array(counter, np.uint64), np.array(key, np.uint64)) == word


def test_numbers_fill_the_range_evenly():
    numbers = draw(200_000, 0, 0, 1, TRAINING)
    assert numbers.min() >= -1
    assert numbers.max() < 3
    counts, _ = np.histogram(numbers, bins=20, range=(-1, 3))
    # 10,000 are expected in each; the standard deviation of a count is about 97.
    assert np.abs(counts - 10_000).max() < 500


@pytest.mark.parametrize(
    "other",
    [
        {"env": 4},
        {"episode": 8},
        {"seed": 2},
        {"seed": 1 + 2**32},
        {"stream": EVALUATION},
    ],
)
def test_every_part_of_the_key_changes_the_numbers(other):
    key = {"env": 3, "episode": 7, "seed": 1, "stream": TRAINING}
    assert (draw(50, **key) == draw(50, **key)).all()
    assert (draw(50, **key) != draw(50, **(key | other))).all()
