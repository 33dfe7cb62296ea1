"""Vector environments of Gymnasium as a run has them."""

from __future__ import annotations

from unittest import mock

import gymnasium
from gymnasium.envs.registration import EnvSpec

from operant.trainer.envs.from_gymnasium import describe
from operant.trainer.envs.hosts import make_envs
from operant.trainer.jit.streams import TRAINING


def vector_envs(make, num_envs):
    """The environments of the vector environment that `make(num_envs)` returns."""
    entry = EnvSpec("Toy-v0", vector_entry_point=lambda num_envs, **_: make(num_envs))
    with mock.patch.dict(gymnasium.registry, {entry.id: entry}):
        return make_envs(describe(entry.id), num_envs, 1, TRAINING)
