"""The sum of the shards' gradients, clipping by its norm, and a step of Adam."""

from __future__ import annotations

import math

from numpy import float32

from ..algorithms.flat_adam import BETA_1, BETA_2, EPSILON
from ..compiling import compiled


@compiled
def clear(gradients, sums):
    """Set `gradients` [G] float32 and `sums` [5] float64 to 0."""
    for i in range(len(gradients)):
        gradients[i] = float32(0.0)
    for i in range(len(sums)):
        sums[i] = 0.0


@compiled
def add_up(gradients, start, stop):
    """Add all shards' `gradients` [shards, G] float32 to those of the first, from `start` to
    `stop`.
    """
    for shard in range(1, len(gradients)):
        for i in range(start, stop):
            gradients[0, i] += gradients[shard, i]


@compiled
def add_up_sums(shard_sums, sums):
    """Write the sums of `shard_sums` [shards, 5] float64 to `sums` [5]."""
    for i in range(len(sums)):
        sums[i] = 0.0
        for shard in range(len(shard_sums)):
            sums[i] += shard_sums[shard, i]


@compiled
def scale_down(gradients, max_norm):
    """Scale `gradients` [P] float32 to norm `max_norm` where theirs is larger; returns what it was,
    float64.
    """
    squares = 0.0
    for gradient in gradients:
        squares += gradient * gradient
    norm = math.sqrt(squares)
    if norm > max_norm:
        factor = float32(max_norm / norm)
        for i in range(len(gradients)):
            gradients[i] *= factor
    return norm


@compiled
def adam_step(parameters, gradients, mean, square, num_steps, learning_rate):
    """As `FlatAdam.step`, for step number `num_steps`; arrays are [P] float32."""
    rate = float32(learning_rate / (1.0 - BETA_1**num_steps))
    correction = float32(1.0 / (1.0 - BETA_2**num_steps))
    weight_1, weight_2 = float32(1.0 - BETA_1), float32(1.0 - BETA_2)
    epsilon = float32(EPSILON)
    for i in range(len(parameters)):
        gradient = gradients[i]
        mean[i] += weight_1 * (gradient - mean[i])
        square[i] += weight_2 * (gradient * gradient - square[i])
        parameters[i] -= rate * mean[i] / (math.sqrt(square[i] * correction) + epsilon)
