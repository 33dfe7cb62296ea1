"""The update is the one the paper describes."""

from __future__ import annotations

import math

import pytest
import torch

from operant.trainer.ppo import (
    PPO,
    Batch,
    explained_variance,
    normalized,
    ppo_loss_sums,
    scaled_down,
)


@pytest.fixture(params=["compiled", "pytorch"])
def make_learning(request, make_experiment):
    """Experiments that learn with the compiled loop, and with PyTorch."""

    def make(*overrides: str):
        experiment = make_experiment(*overrides)
        if request.param == "pytorch":
            experiment.learner = PPO(experiment.policy, experiment.config.ppo, seed=1)
        return experiment

    return make


class FixedPolicy:
    """A policy whose log-probabilities and values are given."""

    def __init__(self, log_probs, values):
        self.log_probs, self.fixed_values = torch.tensor(log_probs), torch.tensor(values)
        self.distribution = self

    def outputs(self, obs):
        return obs

    def log_prob_and_entropy(self, outputs, actions):
        return self.log_probs, torch.full_like(self.log_probs, 0.5)

    def values(self, obs):
        return self.fixed_values


def test_the_objective_is_clipped_only_where_clipping_makes_it_worse():
    ratios = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1])
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0, 2.0])
    policy = FixedPolicy(ratios.log().tolist(), [0.0, 0.0, 0.0, 0.0, 3.0])
    nothing = torch.zeros(5)
    batch = Batch(nothing, nothing, nothing, advantages, torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0]))
    sums = ppo_loss_sums(policy, batch, clip_coef=0.2)
    # min of: 1.5 or 1.2; -1.5 or -1.2; 0.5 or 0.8; -0.5 or -0.8; 2.2 or 2.2
    assert sums.policy.item() == pytest.approx(-(1.2 - 1.5 + 0.5 - 0.8 + 2.2))
    assert sums.value.item() == pytest.approx(0.5 * (3.0 - 1.0) ** 2)
    assert sums.entropy.item() == pytest.approx(5 * 0.5)
    assert sums.clipped.item() == 4
    expected_kl = sum((r - 1) - math.log(r) for r in ratios.tolist())
    assert sums.kl.item() == pytest.approx(expected_kl, abs=1e-6)


def test_advantages_are_normalised_over_what_they_are_given():
    found = normalized(torch.tensor([1.0, 2.0, 3.0]))
    torch.testing.assert_close(found, torch.tensor([-1.0, 0.0, 1.0]))
    assert normalized(torch.tensor([7.0])).item() == 7.0


@pytest.mark.parametrize("normalize", ["true", "false"])
def test_before_the_first_step_every_ratio_is_one(make_experiment, normalize):
    experiment = make_experiment(
        f"normalization.obs={normalize}", f"normalization.reward={normalize}"
    )
    for _ in range(3):  # after updates of the statistics as well
        rollout = experiment.collector.collect()
        with torch.no_grad():
            outputs = experiment.policy.outputs(rollout.obs[:-1].flatten(0, 1))
            log_probs, _ = experiment.policy.distribution.log_prob_and_entropy(
                outputs, rollout.actions.flatten()
            )
        ratios = (log_probs - rollout.log_probs.flatten()).exp()
        assert (ratios - 1).abs().max() < 1e-5
        experiment.learn(rollout)


def test_an_update_makes_good_actions_likelier(make_learning):
    experiment = make_learning("ppo.learning_rate=1e-2", "ppo.num_epochs=10")
    rollout = experiment.collector.collect()
    rewards = rollout.actions.float()  # action 1 pays, action 0 does not
    before = experiment.policy.outputs(rollout.obs[:-1]).softmax(-1)[..., 1].mean()
    rollout.terminated[:] = True  # each action stands for itself
    experiment.learner.update(rollout, rewards, 0.0)
    after = experiment.policy.outputs(rollout.obs[:-1]).softmax(-1)[..., 1].mean()
    assert after > before + 0.1


def test_target_kl_ends_an_update_early(make_learning):
    steps = {}
    for target in ("1e-9", "1e9"):
        experiment = make_learning("ppo.num_epochs=5", f"ppo.target_kl={target}")
        experiment.learn(experiment.collector.collect())
        steps[target] = experiment.learner.num_steps
    assert steps == {"1e-9": 4, "1e9": 20}


def test_gradients_are_scaled_down_to_the_largest_norm_allowed():
    gradients = torch.tensor([3.0, 4.0])
    assert scaled_down(gradients, 10.0) == 5.0
    assert gradients.tolist() == [3.0, 4.0]
    assert scaled_down(gradients, 0.5) == 5.0
    torch.testing.assert_close(gradients, torch.tensor([0.3, 0.4]))


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_learning_rate_follows_its_schedule(make_learning, schedule):
    experiment = make_learning(f"ppo.learning_rate_schedule={schedule}")
    rates = [
        experiment.learn(experiment.collector.collect())["optimizer/learning_rate"]
        for _ in range(6)
    ]
    assert rates[0] == 3e-4
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 3


def test_explained_variance_is_one_for_perfect_values_and_nan_where_returns_never_vary():
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns) == 1.0
    assert explained_variance(returns, torch.full((3,), 2.0)) == 0.0
    assert math.isnan(explained_variance(torch.ones(3), torch.zeros(3)))


def test_the_numbers_do_not_depend_on_the_number_of_threads(make_experiment):
    weights = []
    for num_threads in (1, 2):
        experiment = make_experiment("num_envs=300", f"num_threads={num_threads}")
        for _ in range(2):
            experiment.learn(experiment.collector.collect())
        weights.append(experiment.policy.flat_parameters.clone())
    assert (weights[0] == weights[1]).all()
    assert weights[0].isfinite().all()
