"""Normalises observations by their running mean and deviation, in compiled loops."""

from __future__ import annotations

from numpy import float32

from .compiling import compiled

CLIP = float32(10.0)


@compiled
def normalize_rows(obs, first, rows, policy, x, to):
    """Write `rows` observations from obs[first] on, of obs [N, D], to x[to] and on, of x
    [CHUNK, width]: float32, normalised and clipped if the policy normalises.
    """
    # Columns outermost: there are too few of them for vectors, and rows lie anywhere.
    for i in range(obs.shape[1]):
        for row in range(rows):
            x[to + row, i] = obs[first + row, i]
    _normalize(to, rows, obs.shape[1], policy, x)


@compiled
def normalize_chosen(obs, index, first, rows, policy, x):
    """`normalize_rows` for obs[index[first]] and on, to x[0] and on; `index` is [B] int64."""
    for i in range(obs.shape[1]):
        for row in range(rows):
            x[row, i] = obs[index[first + row], i]
    _normalize(0, rows, obs.shape[1], policy, x)


@compiled
def _normalize(first, rows, obs_size, policy, x):
    """Normalise x[first : first + rows, :obs_size] in place if the policy normalises."""
    if policy.normalizes_obs:
        for i in range(obs_size):
            mean, deviation = policy.obs_mean[i], policy.obs_deviation[i]
            for row in range(first, first + rows):
                x[row, i] = min(max((x[row, i] - mean) / deviation, -CLIP), CLIP)
