"""Observations as the policy sees them."""

from __future__ import annotations

from numpy import float32

from ..compiling import compiled

CLIP = float32(10.0)


@compiled
def normalize(obs, policy, x, row):
    """Write one observation [D] to x[row], normalised and clipped if the policy wants that."""
    for i in range(len(obs)):
        if policy.normalizes_obs:
            value = (obs[i] - policy.obs_mean[i]) / policy.obs_deviation[i]
            x[row, i] = min(max(value, -CLIP), CLIP)
        else:
            x[row, i] = obs[i]
