"""One of n actions: drawing it, and the derivative of the PPO loss by the actor's outputs.

`distributions.Categorical` is the same in PyTorch.
"""

from __future__ import annotations

import math

from numpy import float32

from ..compiling import compiled
from ..envs.streams import uniform_at

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
def sample(outputs, row, n, seed, step, env, actions):
    """Write an action to actions[env], drawn for this env step; returns its log-probability."""
    normalizer = log_sum_exp(outputs, row, n)
    noise = uniform_at(step, 0, env, seed)
    cumulative = _ZERO
    action = n - 1  # takes what rounding leaves
    for k in range(n - 1):
        cumulative += math.exp(outputs[row, k] - normalizer)
        if noise < cumulative:
            action = k
            break
    actions[env] = action
    return outputs[row, action] - normalizer


@compiled
def log_prob_and_entropy(outputs, row, n, actions, place):
    """Log-probability of actions[place] and entropy, in nats."""
    normalizer = log_sum_exp(outputs, row, n)
    entropy = _ZERO
    for k in range(n):
        log_prob = outputs[row, k] - normalizer
        entropy -= math.exp(log_prob) * log_prob
    return outputs[row, actions[place]] - normalizer, entropy


@compiled
def backward(outputs, row, n, actions, place, by_log_prob, by_entropy, entropy, delta):
    """Write the loss's derivative by the outputs to delta[row, :n], given those by the
    log-probability of the action and by the entropy.
    """
    normalizer = log_sum_exp(outputs, row, n)
    for k in range(n):
        log_prob = outputs[row, k] - normalizer
        probability = math.exp(log_prob)
        chosen = _ONE if k == actions[place] else _ZERO
        delta[row, k] = by_log_prob * (chosen - probability) - by_entropy * probability * (
            log_prob + entropy
        )
