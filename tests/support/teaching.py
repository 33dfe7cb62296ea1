"""Teachers whose likings are known."""

from __future__ import annotations

from collections.abc import Callable

import torch

from operant.trainer.config import TrainConfig
from operant.trainer.experiment.untrained import make_policy

TAUGHT = ("kickstart.teachers=['a-run']",)


def teacher(config_of: Callable[..., TrainConfig], *overrides: str, liking: float = 2.0):
    """Whoever has the weights of another seed, and likes the first action by so much."""
    policy = make_policy(config_of("seed=9", *overrides))
    last = policy.actor if isinstance(policy.actor, torch.nn.Linear) else policy.actor[-1]
    with torch.no_grad():
        last.bias[0] += liking
        last.bias[1:] -= liking
    return policy.requires_grad_(False)
