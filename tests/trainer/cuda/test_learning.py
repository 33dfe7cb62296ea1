"""The update on the device is the one of `ppo.py`, step by step."""

from __future__ import annotations

import pytest
import torch

from operant.trainer import ppo
from operant.trainer.cuda.learning import METRIC_NAMES
from operant.trainer.cuda.orders import Orders
from operant.trainer.experiment import make_policy, part_seed


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["ppo.normalize_advantages=rollout", "ppo.entropy_coef=0.1"],
        ["ppo.normalize_advantages=off", "policy.activation=relu", "ppo.max_grad_norm=0.01"],
        ["normalization.obs=true", "normalization.reward=true", "ppo.num_minibatches=1"],
        ["ppo.clip_coef=0.01", "ppo.target_kl=0.01", "ppo.num_epochs=8"],
        ["ppo.learning_rate_schedule=linear", "ppo.clip_schedule=cosine", "ppo.value_clip=0.1"],
    ],
    ids=["default", "rollout", "off", "normalized", "clipped", "scheduled"],
)
def test_an_update_is_that_of_the_reference(
    make_experiment, make_cuda_experiment, monkeypatch, overrides
):
    overrides = ["num_envs=40", "total_env_steps=9999", "ppo.learning_rate=1e-3", *overrides]
    compiled, device = make_experiment(*overrides), make_cuda_experiment(*overrides)
    config = device.config
    orders = Orders(config.rollout_size, part_seed(config, "learner"), torch.device("cpu"))
    monkeypatch.setattr(
        ppo,
        "minibatch_orders",
        lambda *_: (
            orders.next().view(config.ppo.num_minibatches, -1) for _ in range(config.ppo.num_epochs)
        ),
    )
    policy = make_policy(config)
    compiled.learner = ppo.PPO(policy, config.ppo, seed=0)
    compiled.policy.flat_parameters.copy_(policy.flat_parameters)
    for number in range(3):
        rollout = compiled.collector.collect()
        device.collector.collect()
        expected = compiled.learn(rollout)
        device._learn_and_measure()
        found = dict(zip(device._staged.names, device._staged.values.tolist(), strict=True))
        for name in METRIC_NAMES:
            assert found[name] == pytest.approx(expected[name], rel=2e-3, abs=2e-5), (number, name)
        torch.testing.assert_close(
            device.policy.flat_parameters, policy.flat_parameters, rtol=1e-4, atol=2e-5
        )
        assert device.learner.optimizer.num_steps == compiled.learner.num_steps
        # Small differences grow, so that each iteration is compared from the same beginning.
        device.policy.flat_parameters.copy_(policy.flat_parameters)
        compiled.policy.flat_parameters.copy_(policy.flat_parameters)
        policy.normalizer.load_state_dict(compiled.policy.normalizer.state_dict())


def test_target_kl_ends_an_update_early(make_cuda_experiment):
    steps = {}
    for target in ("1e-9", "1e9"):
        experiment = make_cuda_experiment("ppo.num_epochs=5", f"ppo.target_kl={target}")
        experiment.collector.collect()
        experiment._learn_and_measure()
        steps[target] = int(experiment.learner.optimizer.num_steps)
    assert steps == {"1e-9": 4, "1e9": 20}


def test_every_order_is_a_permutation_and_none_comes_twice():
    device = torch.device("cpu")
    orders, again, other = Orders(500, 1, device), Orders(500, 1, device), Orders(500, 2, device)
    first, second = orders.next(), orders.next()
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(500))
    assert (first != second).any()
    assert (again.next() == first).all()
    assert (other.next() != first).any()


def test_an_order_leaves_nothing_near_its_place():
    order = Orders(10_000, 3, torch.device("cpu")).next()
    correlation = torch.corrcoef(torch.stack([order.double(), torch.arange(10_000).double()]))
    assert abs(correlation[0, 1]) < 0.04  # four deviations of chance
