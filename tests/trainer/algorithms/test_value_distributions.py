"""Distributional value-based algorithms: atoms, quantiles, noise."""

from __future__ import annotations

import pytest
import torch
from learning import iterate

from operant.trainer.algorithms.value_based import into_outputs, of_actions
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

SECTION = {"warmup_env_steps": 64, "batch_size": 32, "gamma": 0.9}


@pytest.fixture
def make():
    all_threads = []

    def make_one(algorithm, **section):
        all_threads.append(Threads(1))
        config = make_config(
            {
                "env": "cart_pole", "algorithm": algorithm, "num_envs": 4, "rollout_steps": 8,
                "num_threads": 1, "total_env_steps": 32 * 40, "replay": {"capacity": 400},
                "policy": {"hidden_sizes": [16, 16]}, algorithm: {**SECTION, **section},
            }
        )  # fmt: skip
        return processor_experiment(config, all_threads[-1])

    yield make_one
    for threads in all_threads:
        threads.close()


def test_rows_of_actions_are_taken_out_and_put_back():
    outputs = torch.arange(12.0).view(2, 3, 2)
    actions = torch.tensor([2, 0])
    taken = of_actions(outputs, actions)
    assert taken.tolist() == [[4, 5], [6, 7]]
    assert into_outputs(taken, actions, 3).tolist() == [[0, 0, 0, 0, 4, 5], [6, 7, 0, 0, 0, 0]]


def test_atoms_that_returns_go_beyond_are_told_once_with_the_numbers(make):
    # A reward of 1 a step and a discount of 0.9: returns go up to 10.
    experiment = make("c51", lowest=0.0, highest=2.0, learning_rate=1e-2)
    iterate(experiment, 10)
    (notice,) = experiment.take_notices()
    assert notice.startswith("returns from 1 to 2.")
    assert notice.endswith("from c51.lowest = 0 to c51.highest = 2")
    iterate(experiment, 2)
    assert experiment.take_notices() == []


def test_every_environment_explores_by_noise_of_its_own_kept_for_a_collection(make):
    policy = (experiment := make("rainbow")).policy
    seen = []  # of each collection: the noise in each of its steps

    def remembering(obs, noise, act=policy.act):
        seen[-1].append(policy.row_noise.clone())
        return act(obs, noise)

    policy.act = remembering
    for _ in range(3):
        seen.append([])
        iterate(experiment, 1)
    for steps in seen:
        assert len(steps) == experiment.config.rollout_steps
        assert all(torch.equal(step, steps[0]) for step in steps)
        assert len(steps[0].unique(dim=0)) == experiment.config.num_envs
    assert not torch.equal(seen[0][0], seen[1][0])
    assert not torch.equal(seen[1][0], seen[2][0])


def test_noise_is_another_with_every_update_and_none_when_greedy(make):
    experiment = make("rainbow")
    iterate(experiment, 3)
    network, algorithm = experiment.policy.network, experiment.algorithm
    obs = torch.ones(5, 4)
    with torch.no_grad():
        noisy, greedy = network.values(obs), experiment.policy.greedy(obs)
        torch.testing.assert_close(noisy, noisy[:1].expand_as(noisy))
        algorithm.resample_noise()
        assert not torch.equal(network.values(obs), noisy)
        assert torch.equal(experiment.policy.greedy(obs), greedy)
        before = [layer.noise.clone() for layer in algorithm.target.noisy_layers]
        algorithm.resample_noise()
    for layer, old, ours in zip(
        algorithm.target.noisy_layers, before, network.noisy_layers, strict=True
    ):
        assert not torch.equal(layer.noise, old)
        assert not torch.equal(layer.noise, ours.noise)


def test_the_priority_of_quantiles_is_the_mean_over_the_targets_of_their_huber_sum(make):
    experiment = make("qr_dqn", num_quantiles=2)
    iterate(experiment, 3)
    algorithm = experiment.algorithm
    algorithm.network.flat_parameters.zero_()
    algorithm.target.flat_parameters.zero_()
    # The biases of the last layer lie last: each of two actions has the quantiles -2 and 2.
    algorithm.target.flat_parameters[-4:] = torch.tensor([-2.0, 2.0, -2.0, 2.0])
    batch = algorithm.batch
    batch.returns.zero_()
    batch.discounts.fill_(1.0)
    metrics, priorities = algorithm.learn(batch, 0, 0.0, None)
    # Quantiles 0, 0 at the fractions 1/4 and 3/4, and huber(2) = 1.5. At 1/4 the targets -2 and 2
    # weigh 3/4 and 1/4, at 3/4 the other way around: (1.125 + 0.375) / 2 each, 1.5 together.
    assert priorities.tolist() == [1.5] * len(batch)
    assert metrics["value/td_error"] == 0  # the means are the same


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["qr_dqn", "iqn", "c51", "dqn"])
def test_values_come_near_the_return_of_an_endless_reward(make, algorithm):
    atoms = {"lowest": 0.0, "highest": 12.0} if algorithm == "c51" else {}
    experiment = make(algorithm, learning_rate=1e-2, updates_per_env_step=2.0, **atoms)
    for _ in range(40):
        values = iterate(experiment)
    # Poles that stand get 1 + 0.9 + 0.81 + ... = 10; most of those drawn stand for a while.
    assert 5 < values["value/mean"] < 11
