"""Losses of a minibatch and their gradients, as Stable-Baselines3 and sb3-contrib write them, by
automatic differentiation.
"""

from __future__ import annotations

import pytest
import torch
from learning import REPLAY_ENVS, iterate
from sb3_contrib.common.utils import quantile_huber_loss
from torch.distributions import Normal, TanhTransform, TransformedDistribution
from torch.nn import functional

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
OPTIONS = {"tqc": {"num_quantiles": 7, "dropped_quantiles": 2}, "dqn": {"double": False}}


@pytest.fixture
def learner(request, monkeypatch):
    """An algorithm that has learned a little, with noise that the test knows, as `noise` [B, 1]."""
    name = request.param
    values = {
        "env": REPLAY_ENVS[name], "algorithm": name, "num_envs": 4, "rollout_steps": 8,
        "num_threads": 1, "total_env_steps": 32 * 8, "policy": {"hidden_sizes": [16, 16]},
        "replay": {"capacity": 400},
        name: {"warmup_env_steps": 64, "batch_size": 32, **OPTIONS.get(name, {})},
    }  # fmt: skip
    experiment = processor_experiment(make_config(values), Threads(1))
    iterate(experiment, 4)  # values are no longer those of the first weights
    made = experiment.algorithm
    made.noise = torch.randn(32, 1, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(made, "next_draw", lambda _: made.noise)
    yield made
    experiment.close()


def gradient_of(loss, network):
    gradients = torch.autograd.grad(loss, network.parameters_to_learn())
    return torch.cat([gradient.flatten() for gradient in gradients])


def tqc_loss(learner, batch):
    with torch.no_grad():
        drawn = learner.policy.draw(batch.next_obs, learner.noise)
        pooled = learner.target_critics(batch.next_obs, drawn.actions)
        kept = pooled.transpose(0, 1).reshape(32, -1).sort(dim=1).values[:, : 2 * 7 - 2 * 2]
        soft = kept - learner.alpha * drawn.log_probs.unsqueeze(1)
        targets = batch.returns.unsqueeze(1) + batch.discounts.unsqueeze(1) * soft
    # In sb3-contrib quantiles are [B, critics, quantiles].
    quantiles = learner.critics(batch.obs, batch.actions).transpose(0, 1)
    targets = targets.unsqueeze(1).expand(-1, 2, -1)
    return quantile_huber_loss(quantiles, targets, sum_over_quantiles=False)


def sac_loss(learner, batch):
    with torch.no_grad():
        drawn = learner.policy.draw(batch.next_obs, learner.noise)
        values = learner.target_critics(batch.next_obs, drawn.actions).amin(0)
        targets = batch.returns + batch.discounts * (values - learner.alpha * drawn.log_probs)
    critics = learner.critics(batch.obs, batch.actions)
    return 0.5 * sum(functional.mse_loss(values, targets) for values in critics)


def td3_loss(learner, batch):
    with torch.no_grad():
        noise = (0.2 * learner.noise).clamp(-0.5, 0.5)
        actions = (learner.target_actor(batch.next_obs).tanh() + noise).clamp(-1, 1)
        values = learner.target_critics(batch.next_obs, actions).amin(0)
        targets = batch.returns + batch.discounts * values
    critics = learner.critics(batch.obs, batch.actions)
    return sum(functional.mse_loss(values, targets) for values in critics)


LOSSES = {"tqc": tqc_loss, "sac": sac_loss, "td3": td3_loss}


@pytest.mark.parametrize(("learner", "expected_loss"), LOSSES.items(), indirect=["learner"])
def test_critics_follow_the_targets_of_their_algorithm(learner, expected_loss):
    batch = learner.replay.sample(learner.batch, 0.0)
    losses = learner.critic_losses(batch, batch.obs, batch.next_obs)
    gradient = losses.gradient.clone()
    expected = expected_loss(learner, batch)
    torch.testing.assert_close(losses.loss, expected.detach(), **CLOSE)
    torch.testing.assert_close(gradient, gradient_of(expected, learner.critics), **CLOSE)


def soft_actor_loss(learner, obs, values_of):
    mean, log_std = learner.policy.network(obs).chunk(2, -1)
    distribution = TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform())
    actions = torch.tanh(mean + log_std.exp() * learner.noise)
    log_probs = distribution.log_prob(actions).sum(-1)
    return (learner.alpha * log_probs - values_of(learner.critics(obs, actions))).mean()


ACTOR_LOSSES = {
    "tqc": lambda learner, obs: soft_actor_loss(learner, obs, lambda x: x.mean((0, 2))),
    "sac": lambda learner, obs: soft_actor_loss(learner, obs, lambda x: x.amin(0)),
    "td3": lambda learner, obs: -learner.critics(obs, learner.policy.best(obs))[0].mean(),
}


@pytest.mark.parametrize(("learner", "expected_loss"), ACTOR_LOSSES.items(), indirect=["learner"])
def test_actors_follow_their_critics(learner, expected_loss, actor_step):
    obs = torch.randn(32, 3, generator=torch.Generator().manual_seed(2))
    loss, gradient = actor_step(learner, obs, learner.noise)
    expected = expected_loss(learner, obs)
    torch.testing.assert_close(loss, expected.detach(), **CLOSE)
    wanted = gradient_of(expected, learner.policy.network)
    torch.testing.assert_close(gradient, wanted, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("learner", ["dqn"], indirect=True)
def test_dqn_follows_the_largest_value_of_its_target_network(learner):
    batch = learner.replay.sample(learner.batch, 0.0)
    outputs = learner.network(batch.obs)
    losses = learner.losses(batch, outputs.detach(), batch.next_obs)
    with torch.no_grad():
        next_values = learner.target.values(batch.next_obs).max(1).values
        targets = batch.returns + batch.discounts * next_values
    values = outputs.gather(1, batch.actions.unsqueeze(1)).squeeze(1)
    expected = functional.smooth_l1_loss(values, targets, reduction="none")
    torch.testing.assert_close(losses.loss, expected.detach(), **CLOSE)
    (slopes,) = torch.autograd.grad(expected.sum(), outputs)
    torch.testing.assert_close(losses.by_outputs.view_as(slopes), slopes, **CLOSE)
