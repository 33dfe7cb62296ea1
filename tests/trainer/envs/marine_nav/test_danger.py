"""How careful to be, by how near things are: worked out by hand for what robots observe."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from operant.shared.errors import UsageError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.marine_nav.danger import adaptive_risk
from operant.trainer.envs.marine_nav.world import World, obs_scale
from operant.trainer.experiment.trained_policy import TrainedPolicy, act_with_risk
from operant.trainer.experiment.untrained import make_policy


@pytest.mark.parametrize("scaled", [False, True])
def test_kinematic_vessels_are_careful_of_the_nearest_hull(scaled):
    world = World(robots=2, obstacles=1, vortices=0, vessels="kinematic", scaled_obs=scaled)
    obs = np.zeros((4, 39))
    obs[1, 4:7] = 3.0, 4.0, 1.2  # an obstacle of 1.2 m: 5 - 1.2 - 0.8 = 3 m from the hull
    obs[2, 4:7] = 3.0, 4.0, 1.2
    obs[2, 19:21] = 0.0, -3.6  # a vessel: 3.6 - 1.6 = 2 m
    obs[3, 4:7] = 1.0, 0.0, 1.0  # touched: no less than 0
    seen = torch.as_tensor(obs * obs_scale(world), dtype=torch.float32)
    found = adaptive_risk(world, seen)
    torch.testing.assert_close(found, torch.tensor([1.0, 0.3, 0.2, 0.0]))


def test_a_vessel_with_a_sonar_is_careful_of_its_shortest_beam_that_hits():
    world = World(robots=1, obstacles=1, vortices=0, vessels="sonar")
    obs = torch.zeros(2, 26)
    obs[1, 6:8] = torch.tensor([3.0, 4.0])
    obs[1, 10:12] = torch.tensor([0.0, 2.5])
    torch.testing.assert_close(adaptive_risk(world, obs), torch.tensor([1.0, 0.25]))


KINEMATIC = {
    "env": "marine_nav", "algorithm": "iqn", "normalization": {"obs": False},
    "marine_nav": {"vessels": "kinematic", "num_robots": 2, "num_obstacles": 1},
    "policy": {"hidden_sizes": [16]},
}  # fmt: skip


def trained(**changes):
    config = make_config({**KINEMATIC, **changes})
    return TrainedPolicy(make_policy(config), config, 1)


def test_acting_goes_by_another_part_of_the_return_for_every_robot():
    one = trained()
    network = one.policy.network
    obs = torch.zeros(2, 39)
    obs[1, 4:7] = torch.tensor([3.0, 4.0, 1.2])
    everything = network.values(obs)
    act_with_risk(one, "0.3")
    part = network.values(obs)
    act_with_risk(one, "adaptive")
    torch.testing.assert_close(network.values(obs)[0], everything[0])
    torch.testing.assert_close(network.values(obs)[1], part[1])
    assert (part[1] != everything[1]).all()


@pytest.mark.parametrize("risk", ["0", "1.5", "nan", "often", "-1"])
def test_what_is_no_part_of_a_return_is_refused(risk):
    with pytest.raises(UsageError, match=f"--risk {risk}: above 0 and up to 1, or adaptive"):
        act_with_risk(trained(), risk)


def test_who_has_no_quantiles_or_no_danger_is_refused():
    with pytest.raises(UsageError, match="dqn has no quantiles to act by"):
        act_with_risk(trained(algorithm="dqn"), "0.5")
    config = make_config({"env": "cart_pole", "algorithm": "iqn"})
    policy = TrainedPolicy(make_policy(config), config, 1)
    with pytest.raises(UsageError, match="cart_pole tells of no danger here"):
        act_with_risk(policy, "adaptive")
