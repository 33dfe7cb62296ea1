"""Advantages: a thread walks each environment's steps backwards, all in one kernel."""

from __future__ import annotations

import numpy as np
from numpy import float32
from torch import Tensor

from .kernel import Kernel
from .rollout import CudaRollout

_ZERO = float32(0.0)


def gae_one(env, arguments):
    """`advantages.gae` for one environment."""
    (
        rewards, values, terminated, truncated, cut_values, num_cuts, gamma, gae_lambda,
        advantages, returns,
    ) = arguments  # fmt: skip
    following = _ZERO
    cut = num_cuts[env]
    for t in range(len(rewards) - 1, -1, -1):
        next_value = values[t + 1, env]
        if truncated[t, env]:
            cut -= 1
            next_value = cut_values[cut, env]
        bootstrap = _ZERO if terminated[t, env] else gamma * next_value
        delta = rewards[t, env] + bootstrap - values[t, env]
        done = terminated[t, env] or truncated[t, env]
        decay = _ZERO if done else gamma * gae_lambda
        following = delta + decay * following
        advantages[t, env] = following
        returns[t, env] = following + values[t, env]


KERNEL = Kernel(gae_one, "any")


def write_advantages(
    rollout: CudaRollout,
    rewards: Tensor,
    gamma: float,
    gae_lambda: float,
    advantages: Tensor,
    returns: Tensor,
) -> None:
    """Write `advantages.gae` of a rollout with `rewards` [T, N]; all are [T, N]."""
    KERNEL.launch(
        rewards.shape[1], rewards, rollout.values, rollout.terminated, rollout.truncated,
        rollout.cut_values, rollout.num_cuts, np.float32(gamma), np.float32(gae_lambda),
        advantages, returns,
    )  # fmt: skip
