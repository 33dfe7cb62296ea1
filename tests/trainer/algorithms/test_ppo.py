"""The update is the one the paper describes."""

from __future__ import annotations

import math

import pytest
import torch
from learning import collected, iterate, learn, num_steps_by_target_kl

from operant.trainer.algorithms.minibatches import Batch
from operant.trainer.algorithms.ppo import PPO, ppo_loss_sums
from operant.trainer.experiment.untrained import learner_settings
from operant.trainer.returns.gae import explained_variance, normalized


@pytest.fixture(params=["compiled", "pytorch"])
def make_learning(request, make_experiment):
    """Experiments that learn with the compiled loop, and with PyTorch."""

    def make(*overrides: str):
        experiment = make_experiment(*overrides)
        if request.param == "pytorch":
            experiment.algorithm = PPO(
                learner_settings(experiment.config), experiment.policy, seed=1
            )
        return experiment

    return make


class FixedDistribution:
    """A distribution whose outputs are the log-probabilities of the actions."""

    def log_prob_and_entropy(self, outputs, actions):
        return outputs, torch.full_like(outputs, 0.5)


def loss_sums(log_probs, values, batch, value_clip=None):
    """The terms for these log-probabilities and values of the policy as it is now."""
    outputs, values = torch.tensor(log_probs), torch.tensor(values)
    return ppo_loss_sums(FixedDistribution(), outputs, values, batch, 0.2, value_clip)


def test_the_objective_is_clipped_only_where_clipping_makes_it_worse():
    ratios = torch.tensor([1.5, 1.5, 0.5, 0.5, 1.1])
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0, 2.0])
    nothing = torch.zeros(5)
    returns = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0])
    batch = Batch(nothing, nothing, nothing, advantages, returns, nothing)
    sums = loss_sums(ratios.log().tolist(), [0.0, 0.0, 0.0, 0.0, 3.0], batch)
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


def test_a_value_counts_only_as_far_as_it_may_move():
    nothing, returns = torch.zeros(4), torch.tensor([3.0, 1.0, 1.0, 0.0])
    batch = Batch(nothing, nothing, nothing, nothing, returns, torch.zeros(4))
    sums = loss_sums([0.0] * 4, [2.0, 2.0, 0.3, -2.0], batch, value_clip=0.5)
    # larger of: 1 or 2.5; 1 or 0.5; 0.7 or 0.7; 2 or 0.5
    assert sums.value.item() == pytest.approx(0.5 * (2.5**2 + 1 + 0.7**2 + 2**2))


@pytest.mark.slow
def test_an_update_begins_where_the_rollout_left_off(any_distribution, make_learning):
    """Steps too small to matter: the update's own ratios stay 1, to the last digit or two."""
    statistics = ("normalization.obs=true", "normalization.reward=true")
    experiment = make_learning(any_distribution, "ppo.learning_rate=1e-12", *statistics)
    for _ in range(2):
        metrics = iterate(experiment)
        assert metrics["policy/approx_kl"] == pytest.approx(0, abs=1e-7)
        assert metrics["policy/clip_fraction"] == 0


def dead(rollout):
    """Make some transitions of `rollout` dead: a few that follow the end of an episode."""
    rollout.truncated[3:5, :4] = True
    rollout.valid = torch.ones_like(rollout.truncated)
    rollout.valid[4:6, :4] = False
    return rollout


@pytest.mark.parametrize("normalize", ["minibatch", "rollout"])
def test_nothing_is_learned_from_dead_transitions(make_learning, normalize):
    weights = []
    for nonsense in (0.0, 1e3):
        experiment = make_learning(
            f"ppo.normalize_advantages={normalize}",
            "normalization.obs=true",
            "normalization.reward=true",
        )
        rollout = dead(experiment.collector.collect())
        # What is said of a dead transition, and would follow from it, changes nothing.
        rollout.rewards[~rollout.valid] = nonsense
        rollout.obs[:-1][~rollout.valid] = nonsense
        rollout.values[~rollout.valid] = nonsense
        rollout.next_values[~rollout.valid] = nonsense
        metrics = learn(experiment)
        assert experiment.env_steps == rollout.rewards.numel() - 8
        weights.append((experiment.policy.flat_parameters.clone(), metrics))
        assert experiment.policy.normalizer.moments.count == experiment.env_steps
    assert (weights[0][0] == weights[1][0]).all()
    assert weights[0][1] == weights[1][1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_probabilities_and_weights_are_float32_whatever_the_networks_compute_in(
    make_experiment, dtype
):
    experiment = make_experiment(f"policy.precision={dtype}")
    rollout = collected(experiment)
    policy = experiment.policy
    products = []
    policy.actor[0].register_forward_hook(lambda _, __, out: products.append(out.dtype))
    outputs = policy.outputs(rollout.obs[0])
    assert products == [getattr(torch, dtype)]
    assert outputs.dtype == policy.values(rollout.obs[0]).dtype == torch.float32
    assert rollout.log_probs.dtype == rollout.values.dtype == torch.float32
    learn(experiment)
    moments = experiment.algorithm.optimizer.mean
    assert policy.flat_parameters.dtype == moments.dtype == torch.float32


def test_an_update_makes_good_actions_likelier(make_learning):
    experiment = make_learning("ppo.learning_rate=1e-2", "ppo.num_epochs=10")
    rollout = collected(experiment)
    rewards = rollout.actions.float()  # action 1 pays, action 0 does not
    before = experiment.policy.outputs(rollout.obs[:-1]).softmax(-1)[..., 1].mean()
    rollout.terminated[:] = True  # each action stands for itself
    experiment.algorithm.learn(rollout, rewards, 0.0)
    after = experiment.policy.outputs(rollout.obs[:-1]).softmax(-1)[..., 1].mean()
    assert after > before + 0.1


def test_target_kl_ends_an_update_early(make_learning):
    steps = num_steps_by_target_kl(make_learning)
    # 4 minibatches an epoch: one epoch of 5, and all of them
    assert steps == {"1e-9": 4, "1e9": 20}


def test_target_kl_is_compared_with_the_mean_over_the_newest_epoch_alone(make_learning):
    def learned(num_epochs, *options):
        experiment = make_learning(
            "ppo.learning_rate=1e-2", f"ppo.num_epochs={num_epochs}", *options
        )
        metrics = iterate(experiment)
        return float(metrics["policy/approx_kl"]), experiment.algorithm.optimizer.num_steps

    first, _ = learned(1)
    of_both, _ = learned(2)
    second = 2 * of_both - first
    assert 0 < first < of_both < second
    _, num_steps = learned(5, f"ppo.target_kl={(of_both + second) / 2}")
    assert num_steps == 2 * 4  # the second epoch, of 4 minibatches, is the last


def test_the_learning_rate_follows_its_schedule(make_learning):
    experiment = make_learning("ppo.learning_rate_schedule=linear")
    rates = [iterate(experiment)["optimizer/learning_rate"] for _ in range(6)]
    assert rates[0] == 3e-4
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < rates[0] / 3


def test_explained_variance_is_one_for_perfect_values_and_nan_where_returns_never_vary():
    returns = torch.tensor([1.0, 2.0, 3.0])
    assert explained_variance(returns, returns) == 1.0
    assert explained_variance(returns, torch.full((3,), 2.0)) == 0.0
    assert math.isnan(explained_variance(torch.ones(3), torch.zeros(3)))


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_number_of_threads(any_distribution, make_experiment):
    weights = []
    for num_threads in (1, 2, 1):
        experiment = make_experiment(
            any_distribution, "num_envs=300", f"num_threads={num_threads}", "ppo.entropy_coef=0.01"
        )
        for _ in range(2):
            iterate(experiment)
        weights.append(experiment.policy.flat_parameters.clone())
    assert (weights[0] == weights[1]).all()
    assert (weights[0] == weights[2]).all()
    assert weights[0].isfinite().all()


def test_rewards_are_cut(make_experiment):
    experiment = make_experiment("normalization.reward_limit=0.5")
    rewards = experiment.algorithm.rewards.of(experiment.collect())
    assert (rewards == 0.5).all()  # of 1 each
