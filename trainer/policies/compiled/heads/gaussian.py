"""Normally distributed actions. `distributions.Gaussian` is the same in PyTorch.

`table` [4, action_size] float32 holds centre and scale of the bounds, and the bounds.
"""

from __future__ import annotations

import math

from numpy import float32

from ....jit.compiling import compiled
from ....jit.streams import uniform_at
from ...distributions.gaussian import HALF_LOG_2_PI

CENTER, SCALE, LOW, HIGH = range(4)

_ZERO = float32(0.0)
_ONE = float32(1.0)
_HALF = float32(0.5)
_TWO = float32(2.0)
_TWO_PI = float32(2 * math.pi)
_HALF_LOG_2_PI = float32(HALF_LOG_2_PI)


@compiled
def normal_at(random, draw):
    """A standard normal float32 for a policy, from the uniform draws 2 `draw` and 2 `draw` + 1.

    Source: Box and Muller 1958.
    """
    radius = math.sqrt(-_TWO * math.log(_ONE - uniform_at(random, 2 * draw)))
    return radius * math.cos(_TWO_PI * uniform_at(random, 2 * draw + 1))


@compiled
def draw(outputs, row, n, random, place, actions):
    """Write a normally distributed action to actions[place]."""
    size = n // 2
    for k in range(size):
        noise = normal_at(random, k)
        actions[place, k] = outputs[row, k] + math.exp(outputs[row, size + k]) * noise


@compiled
def within_bounds(action, table, k):
    """One action in the environment's units."""
    action = table[CENTER, k] + table[SCALE, k] * action
    return min(max(action, table[LOW, k]), table[HIGH, k])


@compiled
def log_prob_and_entropy(outputs, row, n, table, actions, place):
    size = n // 2
    log_prob, entropy = _ZERO, _ZERO
    for k in range(size):
        log_std = outputs[row, size + k]
        z = (actions[place, k] - outputs[row, k]) * math.exp(-log_std)
        log_prob -= _HALF * z * z + log_std + _HALF_LOG_2_PI
        entropy += log_std + _HALF + _HALF_LOG_2_PI
    return log_prob, entropy


@compiled
def sample(outputs, row, n, table, random, place, actions, env_actions):
    draw(outputs, row, n, random, place, actions)
    for k in range(n // 2):
        env_actions[place, k] = within_bounds(actions[place, k], table, k)
    return log_prob_and_entropy(outputs, row, n, table, actions, place)[0]


@compiled
def backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta):
    size = n // 2
    for k in range(size):
        narrow = math.exp(-outputs[row, size + k])
        z = (actions[place, k] - outputs[row, k]) * narrow
        delta[row, k] = by_log_prob * z * narrow
        delta[row, size + k] = by_log_prob * (z * z - _ONE) + by_entropy
