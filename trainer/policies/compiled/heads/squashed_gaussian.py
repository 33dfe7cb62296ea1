"""tanh of normally distributed actions. `distributions.SquashedGaussian` is the same in PyTorch.

`table` is that of `gaussian.py`.
"""

from __future__ import annotations

import math

from numpy import float32

from ....jit.compiling import compiled
from ...distributions.gaussian import QUADRATURE_NODES, QUADRATURE_WEIGHTS
from . import gaussian

_ZERO = float32(0.0)
_TWO = float32(2.0)
_LOG_2 = float32(math.log(2))

_draw, _within_bounds = gaussian.draw, gaussian.within_bounds
_gaussian_log_prob_and_entropy = gaussian.log_prob_and_entropy
_gaussian_backward = gaussian.backward


@compiled
def log_one_minus_tanh_square(u):
    """log(1 - tanh(u)^2), right also where tanh(u) rounds to 1."""
    u = abs(u)
    return _TWO * (_LOG_2 - u - math.log1p(math.exp(-_TWO * u)))


@compiled
def log_prob_of(outputs, row, n, table, actions, place):
    """The log-probability, and the entropy of the normal distributions."""
    log_prob, entropy = _gaussian_log_prob_and_entropy(outputs, row, n, table, actions, place)
    for k in range(n // 2):
        log_prob -= log_one_minus_tanh_square(actions[place, k])
    return log_prob, entropy


@compiled
def sample(outputs, row, n, table, random, place, actions, env_actions):
    _draw(outputs, row, n, random, place, actions)
    for k in range(n // 2):
        env_actions[place, k] = _within_bounds(math.tanh(actions[place, k]), table, k)
    return log_prob_of(outputs, row, n, table, actions, place)[0]


@compiled
def log_prob_and_entropy(outputs, row, n, table, actions, place):
    log_prob, entropy = log_prob_of(outputs, row, n, table, actions, place)
    size = n // 2
    for k in range(size):
        std = math.exp(outputs[row, size + k])
        for i in range(len(QUADRATURE_NODES)):
            u = outputs[row, k] + std * QUADRATURE_NODES[i]
            entropy += QUADRATURE_WEIGHTS[i] * log_one_minus_tanh_square(u)
    return log_prob, entropy


@compiled
def backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta):
    _gaussian_backward(
        outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta
    )
    size = n // 2
    for k in range(size):
        std = math.exp(outputs[row, size + k])
        by_mean, by_std = _ZERO, _ZERO
        for i in range(len(QUADRATURE_NODES)):
            # The derivative of log(1 - tanh(u)^2) is -2 tanh(u).
            slope = math.tanh(outputs[row, k] + std * QUADRATURE_NODES[i]) * QUADRATURE_WEIGHTS[i]
            by_mean -= _TWO * slope
            by_std -= _TWO * slope * QUADRATURE_NODES[i]
        delta[row, k] += by_entropy * by_mean
        delta[row, size + k] += by_entropy * by_std * std
