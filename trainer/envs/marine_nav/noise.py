"""Noise of observations: normal errors of position and velocity, and radii that look too small.

It is drawn from counters, one block of four 32-bit words for each robot, object and decision, so
that objects out of range need no draws.
Source of the normals: Box and Muller 1958, doi:10.1214/aoms/1177706645.
"""

from __future__ import annotations

import math

import numpy as np

from ...jit.streams import four_words
from ..trigonometry import sine_and_cosine
from .bindings import first_noise, num_obstacles, num_robots, real
from .constants import HALF, ONE, PI, TURN, ZERO
from .layout import DECISION, NOISE_SIZE

DEVIATION = 0.05  # of positions in m, and of velocities in m/s
SURE_RADIUS, UNSURE_RADIUS = 0.8, 0.2  # fractions of an object's radius
TWO = 2.0
UNIT = 2.0**-24  # 24 bits are what float32 holds
NODES = 1024.0  # pieces of the quantile function of the noise of radii
FIRST_BLOCK = 4096  # of the episode's counters; the scenario uses those before

_DROP, _LOW_BYTE = np.uint64(8), np.uint64(255)
_BYTE, _TWO_BYTES = np.uint64(8), np.uint64(16)


def von_mises_quantiles(kappa: float, num_nodes: int) -> np.ndarray:
    """Angles in [-pi, pi] below which 0, 1 / n, 2 / n, ... of the distribution around 0 lies."""
    angles = np.linspace(-np.pi, np.pi, 200_001)
    density = np.exp(kappa * np.cos(angles))
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return np.interp(np.arange(num_nodes + 1) / num_nodes, below / below[-1], angles)


QUANTILES = von_mises_quantiles(1.0, int(NODES)).astype(np.float32)


def drawn_noise(state, env, robot, candidate, random):
    """`perception_noise` from the episode's own counters."""
    pair = robot * (num_obstacles + num_robots) + candidate
    decision = int(state[DECISION, env])
    block = FIRST_BLOCK + decision * num_robots * (num_obstacles + num_robots) + pair
    word_0, word_1, word_2, word_3 = four_words(random, block)
    dx, dy = two_normals(word_0, word_1)
    dvx, dvy = two_normals(word_2, word_3)
    # The normals leave the lowest eight bits of each word.
    low = (word_0 & _LOW_BYTE) | (word_1 & _LOW_BYTE) << _BYTE | (word_2 & _LOW_BYTE) << _TWO_BYTES
    return dx, dy, dvx, dvy, radius_factor(von_mises(low))


def no_noise(state, env, robot, candidate, random):
    """`perception_noise` without errors."""
    return ZERO, ZERO, ZERO, ZERO, ONE


def injected_noise(state, env, robot, candidate, random):
    """`perception_noise` from rows of the state: four errors, and an angle for the radius."""
    pair = robot * (num_obstacles + num_robots) + candidate
    row = first_noise + pair * NOISE_SIZE
    factor = radius_factor(state[row + 4, env])
    return state[row, env], state[row + 1, env], state[row + 2, env], state[row + 3, env], factor


def radius_factor(angle):
    return SURE_RADIUS + UNSURE_RADIUS * (angle / PI)


def two_normals(first_word, second_word):
    """Two independent normal numbers of deviation DEVIATION, within 5.8 deviations."""
    share = fraction(first_word) + UNIT  # in (0, 1]
    length = DEVIATION * math.sqrt(-TWO * math.log(share))
    sine, cosine = sine_and_cosine(TURN * (fraction(second_word) - HALF))
    return length * cosine, length * sine


def von_mises(low_word):
    """An angle around 0 with kappa = 1 from 24 bits, by linear pieces of the quantile function."""
    place = real(np.int32(low_word)) * UNIT * NODES
    node = int(place)
    left, right = real(QUANTILES[node]), real(QUANTILES[node + 1])
    return left + (right - left) * (place - real(node))


def fraction(word):
    """The upper 24 bits of a word, in [0, 1)."""
    return real(np.int32(word >> _DROP)) * UNIT
