"""The noise of observations has the right distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from marine_worlds import compiled_for

from operant.trainer.envs.marine_nav.compiled_world import World
from operant.trainer.envs.marine_nav.layout import DECISION
from operant.trainer.envs.marine_nav.noise import drawn_noise

pytestmark = pytest.mark.slow

WORLD = World()
DECISIONS = 4000  # of 5 observers and 9 objects: 180,000 draws
COUNT = DECISIONS * 5 * 9
LARGEST = 1.95 / COUNT**0.5  # distance from the right distribution, one time in 1000


@pytest.fixture(scope="module")
def draws():
    """Errors (x, y, vx, vy) and the radius's factor, [COUNT, 5]."""
    noise = compiled_for(drawn_noise, WORLD)
    state = np.zeros((WORLD.first_rows["state_size"], 1), np.float32)
    random = np.int64(3), np.int64(1), np.uint64(7), np.uint64(0)
    rows = []
    for decision in range(DECISIONS):
        state[DECISION] = decision
        rows += [noise(state, 0, robot, thing, random) for robot in range(5) for thing in range(9)]
    return np.array(rows)


def largest_distance(samples, cumulative):
    """The statistic of Kolmogorov and Smirnov."""
    ranks = np.arange(len(samples) + 1) / len(samples)
    values = cumulative(np.sort(samples))
    return max(np.abs(values - ranks[1:]).max(), np.abs(values - ranks[:-1]).max())


def normal(x):
    return np.array([0.5 * math.erfc(-value / (0.05 * math.sqrt(2))) for value in x])


@pytest.mark.parametrize("part", range(4))
def test_errors_are_normal_with_a_deviation_of_a_twentieth(draws, part):
    assert largest_distance(draws[:, part], normal) < LARGEST


def test_radii_are_four_fifths_and_an_angle_of_von_mises(draws):
    """Factor 0.8 + 0.2 angle / pi, where the angle has the density exp(cos a) / (2 pi I0(1))."""
    angles = (draws[:, 4] - 0.8) / 0.2 * np.pi
    grid = np.linspace(-np.pi, np.pi, 100_001)
    density = np.exp(np.cos(grid)) / (2 * np.pi * 1.2660658777520084)
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2) * (grid[1] - grid[0])])
    assert below[-1] == pytest.approx(1, abs=1e-9)
    assert largest_distance(angles, lambda x: np.interp(x, grid, below)) < LARGEST
    assert draws[:, 4].min() >= 0.6 - 1e-6
    assert draws[:, 4].max() <= 1.0 + 1e-6


def test_the_five_errors_have_nothing_to_do_with_each_other(draws):
    correlations = np.corrcoef(draws.T) - np.eye(5)
    assert np.abs(correlations).max() < 4 / COUNT**0.5
    # Nor with those of the next object, the next observer and the next decision.
    for distance in (1, 9, 45):
        following = [
            np.corrcoef(draws[:-distance, part], draws[distance:, part])[0, 1] for part in range(5)
        ]
        assert np.abs(following).max() < 4 / COUNT**0.5
