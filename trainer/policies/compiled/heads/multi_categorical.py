"""Several choices at once. `distributions.MultiCategorical` is the same in PyTorch.

`table` [choices] int64 holds how many there are to choose from.
"""

from __future__ import annotations

import math

from numpy import float32

from ....jit.compiling import compiled
from ....jit.streams import uniform_at
from . import categorical

_draw = categorical.draw
_log_prob_and_entropy_of = categorical.log_prob_and_entropy_of
_backward_of = categorical.backward_of


@compiled
def sample(outputs, row, n, table, random, place, actions, env_actions):
    first = 0
    total = float32(0.0)
    for choice in range(len(table)):
        part = outputs[:, first : first + table[choice]]
        noise = uniform_at(random, choice)
        action, log_prob = _draw(part, row, table[choice], noise)
        actions[place, choice] = action
        env_actions[place, choice] = action
        total += log_prob
        first += table[choice]
    return total


@compiled
def log_prob_and_entropy(outputs, row, n, table, actions, place):
    first = 0
    total, entropy = float32(0.0), float32(0.0)
    for choice in range(len(table)):
        part = outputs[:, first : first + table[choice]]
        both = _log_prob_and_entropy_of(part, row, table[choice], actions[place, choice])
        total += both[0]
        entropy += both[1]
        first += table[choice]
    return total, entropy


@compiled
def _entropy_of(log_probs, row, n):
    entropy = float32(0.0)
    for k in range(n):
        entropy -= math.exp(log_probs[row, k]) * log_probs[row, k]
    return entropy


@compiled
def backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta):
    first = 0
    for choice in range(len(table)):
        stop = first + table[choice]
        part = outputs[:, first:stop]
        action = actions[place, choice]
        part_entropy = _entropy_of(part, row, table[choice])
        _backward_of(
            part,
            row,
            table[choice],
            action,
            by_log_prob,
            by_entropy,
            part_entropy,
            delta[:, first:stop],
        )
        first = stop
