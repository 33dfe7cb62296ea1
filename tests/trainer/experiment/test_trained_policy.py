"""The policy of a checkpoint, in other people's code."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from operant.shared.errors import UsageError
from operant.trainer.experiment.trained_policy import TrainedPolicy, act_with_risk
from operant.trainer.experiment.untrained import make_policy


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_observations_may_be_arrays_as_environments_give_them(small_config, dtype):
    config = small_config()
    trained = TrainedPolicy(make_policy(config), config, 1)
    obs = np.random.default_rng(1).normal(size=(64, 4)).astype(dtype)
    actions = trained.act(torch.from_numpy(obs.astype(np.float32)))
    assert len(set(actions.tolist())) == 2
    assert torch.equal(trained.act(obs), actions)


def test_a_policy_of_quantiles_acts_by_another_part_of_the_return(small_config):
    config = small_config("algorithm=iqn")
    trained = TrainedPolicy(make_policy(config), config, 1)
    network, obs = trained.policy.network, torch.zeros(2, 4)
    everything = network.values(obs)
    act_with_risk(trained, 0.3)
    assert (network.values(obs) != everything).all()


def test_a_policy_without_quantiles_has_no_risk(small_config):
    config = small_config("algorithm=dqn")
    trained = TrainedPolicy(make_policy(config), config, 1)
    with pytest.raises(UsageError, match=r"--risk 0\.5: dqn has no quantiles to act by"):
        act_with_risk(trained, 0.5)
