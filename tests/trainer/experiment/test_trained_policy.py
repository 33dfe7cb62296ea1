"""The policy of a checkpoint, in other people's code."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from operant.trainer.experiment.trained_policy import TrainedPolicy
from operant.trainer.experiment.untrained import make_policy


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_observations_may_be_arrays_as_environments_give_them(small_config, dtype):
    config = small_config()
    trained = TrainedPolicy(make_policy(config), config, 1)
    obs = np.random.default_rng(1).normal(size=(64, 4)).astype(dtype)
    actions = trained.act(torch.from_numpy(obs.astype(np.float32)))
    assert len(set(actions.tolist())) == 2
    assert torch.equal(trained.act(obs), actions)
