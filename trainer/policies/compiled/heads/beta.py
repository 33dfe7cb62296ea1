"""Beta distributed actions. `distributions.Beta` is the same in PyTorch.

`table` [2, action_size] float32 holds the lower bounds and the spans to the upper ones.
"""

from __future__ import annotations

import math

from numpy import float32, float64

from ....jit.compiling import compiled
from ....jit.streams import uniform_at
from ...distributions.beta import EDGE, MAX_OUTPUT, NUM_TRIES, THIRD
from .gaussian import normal_at

LOW, SPAN = range(2)
SERIES_FROM = 10.0  # where the asymptotic series are exact in float64


@compiled
def concentration(output):
    """alpha or beta, 1 + softplus(output), in float64."""
    x = min(float64(output), MAX_OUTPUT)
    return 1.0 + max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@compiled
def concentration_slope(output):
    """The derivative of `concentration`."""
    if output > MAX_OUTPUT:
        return 0.0
    return 1.0 / (1.0 + math.exp(-float64(output)))


@compiled
def log_beta(alpha, beta):
    return math.lgamma(alpha) + math.lgamma(beta) - math.lgamma(alpha + beta)


@compiled
def digamma(x):
    """The derivative of lgamma, for x >= 1. Source: Abramowitz and Stegun 1964, 6.3.5, 6.3.18."""
    total = 0.0
    while x < SERIES_FROM:
        total -= 1.0 / x
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132)))))
    return total + math.log(x) - 0.5 / x - series


@compiled
def trigamma(x):
    """The derivative of digamma, for x >= 1. Source: Abramowitz and Stegun 1964, 6.4.6, 6.4.12."""
    total = 0.0
    while x < SERIES_FROM:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    series = y * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * (5 / 66)))))
    return total + (1.0 + 0.5 / x + series) / x


@compiled
def gamma_variate(shape, random, draw):
    """From the draws 2 `draw` and on; `distributions.beta.gamma_variates`, with fresh noise."""
    d = shape - THIRD
    v = 1.0
    for i in range(NUM_TRIES):
        normal = float64(normal_at(random, draw + 2 * i))
        uniform = float64(uniform_at(random, 2 * (draw + 2 * i + 1)))
        cube = (1.0 + normal / math.sqrt(9.0 * d)) ** 3
        if cube > 0.0 and math.log(uniform) < 0.5 * normal * normal + d * (
            1.0 - cube + math.log(cube)
        ):
            v = cube
            break
    return d * v


@compiled
def log_prob_of(outputs, row, n, table, actions, place):
    size = n // 2
    total = 0.0
    for k in range(size):
        alpha = concentration(outputs[row, k])
        beta = concentration(outputs[row, size + k])
        x = float64(actions[place, k])
        total += (alpha - 1) * math.log(x) + (beta - 1) * math.log1p(-x) - log_beta(alpha, beta)
    return float32(total)


@compiled
def sample(outputs, row, n, table, random, place, actions, env_actions):
    size = n // 2
    for k in range(size):
        draws = 4 * NUM_TRIES * k
        x = gamma_variate(concentration(outputs[row, k]), random, draws)
        draws += 2 * NUM_TRIES
        y = gamma_variate(concentration(outputs[row, size + k]), random, draws)
        action = float32(min(max(x / (x + y), EDGE), 1.0 - EDGE))
        actions[place, k] = action
        env_actions[place, k] = table[LOW, k] + table[SPAN, k] * action
    return log_prob_of(outputs, row, n, table, actions, place)


@compiled
def log_prob_and_entropy(outputs, row, n, table, actions, place):
    size = n // 2
    entropy = 0.0
    for k in range(size):
        alpha = concentration(outputs[row, k])
        beta = concentration(outputs[row, size + k])
        entropy += log_beta(alpha, beta) - (alpha - 1) * digamma(alpha)
        entropy += (alpha + beta - 2) * digamma(alpha + beta) - (beta - 1) * digamma(beta)
    return log_prob_of(outputs, row, n, table, actions, place), float32(entropy)


@compiled
def backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta):
    size = n // 2
    for k in range(size):
        alpha = concentration(outputs[row, k])
        beta = concentration(outputs[row, size + k])
        x, total = float64(actions[place, k]), alpha + beta
        common, common_slope = digamma(total), (total - 2) * trigamma(total)
        by_alpha = by_log_prob * (math.log(x) - digamma(alpha) + common)
        by_alpha += by_entropy * (common_slope - (alpha - 1) * trigamma(alpha))
        by_beta = by_log_prob * (math.log1p(-x) - digamma(beta) + common)
        by_beta += by_entropy * (common_slope - (beta - 1) * trigamma(beta))
        delta[row, k] = by_alpha * concentration_slope(outputs[row, k])
        delta[row, size + k] = by_beta * concentration_slope(outputs[row, size + k])
