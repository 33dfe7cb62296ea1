"""Advantages, and their normalisation."""

from __future__ import annotations

import math

import numpy as np
from numpy import float32

from ...jit.compiling import compiled, specialised


def gae_template(
    rewards, values, next_values, terminated, truncated, gamma, gae_lambda, advantages, returns
):
    """As `returns.gae`, into `advantages` and `returns`: all [T, N] float32, endings bool."""
    steps, num_envs = rewards.shape
    following = np.zeros(num_envs, np.float32)
    for t in range(steps - 1, -1, -1):
        for n in range(num_envs):
            bootstrap = float32(0.0) if terminated[t, n] else gamma * next_values[t, n]
            delta = rewards[t, n] + bootstrap - values[t, n]
            done = terminated[t, n] or truncated[t, n]
            decay = float32(0.0) if done else gamma * gae_lambda
            following[n] = delta + decay * following[n]
            advantages[t, n] = following[n]
            returns[t, n] = following[n] + values[t, n]


gae_loop = specialised(gae_template, "any")


@compiled
def center_and_scale(advantages, index):
    """Mean, and one over the standard deviation, of advantages[index], both float64; 0 and 1 for a
    single one. `advantages` are float32, `index` is [B] int64.
    """
    size = len(index)
    if size < 2:
        return 0.0, 1.0
    total = 0.0
    for i in index:
        total += advantages[i]
    mean = total / size
    squares = 0.0
    for i in index:
        squares += (advantages[i] - mean) ** 2
    return mean, 1.0 / (math.sqrt(squares / (size - 1)) + 1e-8)


def normalize_template(advantages):
    """Give `advantages` [B] float32 mean 0 and deviation 1, in place."""
    center, scale = center_and_scale(advantages, np.arange(len(advantages)))
    for i in range(len(advantages)):
        advantages[i] = (advantages[i] - center) * scale


normalize_all = specialised(normalize_template, "any")
