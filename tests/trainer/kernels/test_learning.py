"""The compiled update is the one of PyTorch, step by step."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.ppo import PPO


def reference_of(experiment) -> tuple[torch.nn.Module, PPO]:
    """A PyTorch learner with the same weights and the same order of samples."""
    from operant.trainer.experiment import make_policy, part_seed

    policy = make_policy(experiment.config)
    policy.load_state_dict(experiment.policy.state_dict())
    return policy, PPO(policy, experiment.config.ppo, part_seed(experiment.config, "learner"))


def assert_same_update(experiment, progress_fraction=0.25):
    """The next update of `experiment` is the one of PyTorch."""
    experiment.policy.observe(experiment.collector.collect().obs)
    rollout = experiment.collector.collect()
    policy, reference = reference_of(experiment)
    found = experiment.learner.update(rollout, rollout.rewards, progress_fraction)
    expected = reference.update(rollout, rollout.rewards, progress_fraction)
    assert found == pytest.approx(expected, rel=2e-3, abs=2e-5)
    assert experiment.learner.num_steps == reference.num_steps
    torch.testing.assert_close(
        experiment.policy.flat_parameters, policy.flat_parameters, rtol=1e-3, atol=2e-5
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


def test_an_update_of_any_distribution_is_pytorchs(any_distribution, make_experiment):
    experiment = make_experiment(
        any_distribution, "num_envs=40", "ppo.learning_rate=1e-3", "ppo.entropy_coef=0.1"
    )
    assert_same_update(experiment)


@pytest.mark.parametrize("any_distribution", ["gaussian", "squashed_gaussian"], indirect=True)
def test_an_update_at_the_limit_of_the_deviation_is_pytorchs(any_distribution, make_experiment):
    experiment = make_experiment(
        any_distribution, "num_envs=40", "policy.initial_log_std=1.99", "ppo.learning_rate=1e-2"
    )
    assert_same_update(experiment)
