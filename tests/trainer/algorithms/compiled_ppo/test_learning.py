"""The compiled update is the one of PyTorch, step by step."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.algorithms.ppo import PPO
from operant.trainer.experiment.experiment import as_numbers
from operant.trainer.experiment.untrained import learner_settings, make_policy, part_seed
from operant.trainer.policies.normalizers import observe


def reference_of(experiment) -> PPO:
    """PyTorch's own, with the same weights and the same order of samples."""
    config, policy = experiment.config, make_policy(experiment.config)
    policy.load_state_dict(experiment.policy.state_dict())
    return PPO(learner_settings(config), policy, seed=part_seed(config, "learner"))


def assert_same_update(experiment, progress_fraction=0.25):
    """The next update of `experiment` is the one of PyTorch."""
    observe(experiment.policy.normalizer, [experiment.collect().obs.flatten(0, 1)])
    rollout, reference = experiment.collect(), reference_of(experiment)
    found, expected = (
        as_numbers(algorithm.learn(rollout, rollout.rewards, progress_fraction))
        for algorithm in (experiment.algorithm, reference)
    )
    assert found == pytest.approx(expected, rel=2e-3, abs=2e-5)
    assert experiment.algorithm.optimizer.num_steps == reference.optimizer.num_steps
    torch.testing.assert_close(
        experiment.policy.flat_parameters, reference.policy.flat_parameters, rtol=1e-3, atol=2e-5
    )


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["ppo.normalize_advantages=rollout", "ppo.entropy_coef=0.1"],
        ["ppo.normalize_advantages=off", "policy.activation=relu", "ppo.max_grad_norm=0.01"],
        ["normalization.obs=true", "ppo.num_minibatches=1", "policy.hidden_sizes=[7, 30, 5]"],
        ["ppo.value_clip=0.05", "ppo.learning_rate=1e-2"],
        ["ppo.clip_coef=0.01", "ppo.target_kl=0.01", "ppo.num_epochs=8"],
    ],
    ids=["default", "rollout", "off", "normalized", "values clipped", "clipped"],
)
def test_an_update_is_pytorchs(make_experiment, overrides):
    experiment = make_experiment("num_envs=40", "ppo.learning_rate=1e-3", *overrides)
    assert_same_update(experiment)


@pytest.mark.slow  # it compiles the loops of each
def test_an_update_of_any_distribution_is_pytorchs(any_distribution, make_experiment):
    experiment = make_experiment(
        any_distribution, "num_envs=40", "ppo.learning_rate=1e-3", "ppo.entropy_coef=0.1"
    )
    assert_same_update(experiment)


@pytest.mark.slow
@pytest.mark.parametrize("any_distribution", ["gaussian", "squashed_gaussian"], indirect=True)
def test_an_update_at_the_limit_of_the_deviation_is_pytorchs(any_distribution, make_experiment):
    experiment = make_experiment(
        any_distribution, "num_envs=40", "policy.initial_log_std=1.99", "ppo.learning_rate=1e-2"
    )
    assert_same_update(experiment)
