"""The update on the device is the one of the processor, step by step."""

from __future__ import annotations

import pytest
import torch
from learning import iterate, num_steps_by_target_kl

from operant.trainer.algorithms.ppo import LOSS_METRICS
from operant.trainer.experiment.untrained import part_seed
from operant.trainer.policies.draws_on_gpu import CountedOrders


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["ppo.normalize_advantages=rollout", "ppo.entropy_coef=0.1"],
        ["ppo.normalize_advantages=off", "policy.activation=relu", "ppo.max_grad_norm=0.01"],
        ["normalization.obs=true", "normalization.reward=true", "ppo.num_minibatches=1"],
        ["ppo.clip_coef=0.01", "ppo.target_kl=0.01", "ppo.num_epochs=8"],
        ["ppo.learning_rate_schedule=cosine", "ppo.value_clip=0.1"],
    ],
    ids=["default", "rollout", "off", "normalized", "clipped", "scheduled"],
)
def test_an_update_is_that_of_the_compiled_loops(make_experiment, make_cuda_experiment, overrides):
    overrides = ["num_envs=40", "total_env_steps=9999", "ppo.learning_rate=1e-3", *overrides]
    compiled, device = make_experiment(*overrides), make_cuda_experiment(*overrides)
    for experiment in (compiled, device):
        seed = part_seed(experiment.config, "learner")
        experiment.algorithm.orders = CountedOrders(640, seed, torch.device("cpu"))
    for number in range(3):
        expected, found = iterate(compiled), iterate(device)
        for name in (*LOSS_METRICS, "value/explained_variance", "optimizer/grad_norm"):
            assert found[name] == pytest.approx(expected[name], rel=2e-3, abs=2e-5), (number, name)
        torch.testing.assert_close(
            device.policy.flat_parameters, compiled.policy.flat_parameters, rtol=1e-4, atol=2e-5
        )
        steps = [e.algorithm.optimizer.num_steps for e in (compiled, device)]
        assert steps[0] == steps[1]
        # Small differences grow, so that each iteration is compared from the same beginning.
        device.policy.flat_parameters.copy_(compiled.policy.flat_parameters)


def test_target_kl_ends_an_update_early(make_cuda_experiment):
    assert num_steps_by_target_kl(make_cuda_experiment) == {"1e-9": 4, "1e9": 20}


def test_every_order_is_a_permutation_and_none_comes_twice():
    device = torch.device("cpu")
    orders, again, other = (
        CountedOrders(500, 1, device),
        CountedOrders(500, 1, device),
        CountedOrders(500, 2, device),
    )
    first, second = orders.next(500), orders.next(500)
    assert sorted(first.tolist()) == sorted(second.tolist()) == list(range(500))
    assert (first != second).any()
    assert (again.next(500) == first).all()
    assert (other.next(500) != first).any()


def test_an_order_leaves_nothing_near_its_place():
    order = CountedOrders(10_000, 3, torch.device("cpu")).next(10_000)
    correlation = torch.corrcoef(torch.stack([order.double(), torch.arange(10_000).double()]))
    assert abs(correlation[0, 1]) < 0.04  # four deviations of chance
