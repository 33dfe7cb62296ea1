"""Deep deterministic policy gradient. Source: Lillicrap et al. 2016, arXiv:1509.02971."""

from __future__ import annotations

from .td3 import TD3


class DDPG(TD3):
    """One critic, no smoothing, and an actor that moves with every update: `sections` says so."""

    num_critics = 1
