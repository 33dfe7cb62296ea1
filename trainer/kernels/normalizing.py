"""Observations as the policy sees them."""

from __future__ import annotations

from numba import njit
from numpy import float32

from ..compiling import compiled

CLIP = float32(10.0)


@njit(inline="always")
def _seen(obs, place, i, policy):
    value = obs[place, i]
    if policy.normalizes_obs:
        value = (value - policy.obs_mean[i]) / policy.obs_deviation[i]
        value = min(max(value, -CLIP), CLIP)
    return value


@compiled
def see(obs, first, rows, policy, x, to):
    """Write obs[first] [D] and those that follow to x[to] and on, normalised and clipped if the
    policy wants that.
    """
    for row in range(rows):
        for i in range(obs.shape[1]):
            x[to + row, i] = _seen(obs, first + row, i, policy)


@compiled
def see_chosen(obs, index, first, rows, policy, x):
    """The same for obs[index[first]] and so on, to x[0] and on."""
    for row in range(rows):
        for i in range(obs.shape[1]):
            x[row, i] = _seen(obs, index[first + row], i, policy)
