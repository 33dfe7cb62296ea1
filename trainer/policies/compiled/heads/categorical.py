"""One of n actions. `distributions.Categorical` is the same in PyTorch."""

from __future__ import annotations

import math

from numpy import float32

from ....jit.compiling import compiled
from ....jit.streams import uniform_at

_ZERO = float32(0.0)
_ONE = float32(1.0)


@compiled
def log_sum_exp(outputs, row, n):
    """log(sum(exp(outputs[row, :n])))."""
    largest = outputs[row, 0]
    for k in range(1, n):
        largest = max(largest, outputs[row, k])
    total = _ZERO
    for k in range(n):
        total += math.exp(outputs[row, k] - largest)
    return largest + math.log(total)


@compiled
def draw(outputs, row, n, noise):
    """The inverse of the cumulative distribution at `noise`, and the action's log-probability."""
    normalizer = log_sum_exp(outputs, row, n)
    cumulative = _ZERO
    action = n - 1  # takes what rounding leaves
    for k in range(n - 1):
        cumulative += math.exp(outputs[row, k] - normalizer)
        if noise < cumulative:
            action = k
            break
    return action, outputs[row, action] - normalizer


@compiled
def log_prob_and_entropy_of(outputs, row, n, action):
    """Leaves log-probabilities in place of the outputs."""
    normalizer = log_sum_exp(outputs, row, n)
    entropy = _ZERO
    for k in range(n):
        log_prob = outputs[row, k] - normalizer
        outputs[row, k] = log_prob
        entropy -= math.exp(log_prob) * log_prob
    return outputs[row, action], entropy


@compiled
def backward_of(outputs, row, n, action, by_log_prob, by_entropy, entropy, delta):
    for k in range(n):
        log_prob = outputs[row, k]
        probability = math.exp(log_prob)
        chosen = _ONE if k == action else _ZERO
        delta[row, k] = by_log_prob * (chosen - probability) - by_entropy * probability * (
            log_prob + entropy
        )


@compiled
def sample(outputs, row, n, table, random, place, actions, env_actions):
    action, log_prob = draw(outputs, row, n, uniform_at(random, 0))
    actions[place] = action
    env_actions[place] = action
    return log_prob


@compiled
def log_prob_and_entropy(outputs, row, n, table, actions, place):
    return log_prob_and_entropy_of(outputs, row, n, actions[place])


@compiled
def backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta):
    backward_of(outputs, row, n, actions[place], by_log_prob, by_entropy, entropy, delta)
