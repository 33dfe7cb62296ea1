"""Random numbers are a pure function of seed, stream, environment, episode and draw."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from operant.trainer.jit.streams import EVALUATION, TRAINING, philox, uniform


@njit
def words(counter, key):
    return philox(counter[0], counter[1], counter[2], counter[3], key[0], key[1])


@njit
def draw(num_draws, env, episode, seed, stream):
    numbers = np.empty(num_draws, np.float32)
    for i in range(num_draws):
        numbers[i] = uniform((env, episode, seed, stream), i, np.float32(-1), np.float32(3))
    return numbers


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_words_its_authors_published(counter, key, expected):
    # Random123's known answers for philox4x32-10.
    found = words(np.array(counter, np.uint64), np.array(key, np.uint64))
    assert [f"{word:08x}" for word in found] == expected.split()


def test_no_two_draws_of_an_episode_are_the_same():
    numbers = draw(1000, 3, 7, 1, TRAINING)
    # Of 1000 numbers of 24 bits 0.03 pairs are equal by chance.
    assert len(np.unique(numbers)) == 1000


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
