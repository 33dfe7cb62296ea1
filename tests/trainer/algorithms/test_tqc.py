"""TQC's losses are those of sb3-contrib, and its gradients those of automatic differentiation."""

from __future__ import annotations

import pytest
import torch
from learning import iterate
from sb3_contrib.common.utils import quantile_huber_loss
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

TQC = {
    "env": "pendulum", "algorithm": "tqc", "num_envs": 4, "rollout_steps": 8, "num_threads": 1,
    "total_env_steps": 32 * 8, "policy": {"hidden_sizes": [16, 16]}, "replay": {"capacity": 400},
    "tqc": {"warmup_env_steps": 64, "batch_size": 32, "num_quantiles": 7, "dropped_quantiles": 2},
}  # fmt: skip


@pytest.fixture
def experiment():
    threads = Threads(1)
    made = processor_experiment(make_config(TQC), threads)
    iterate(made, 4)  # quantiles are no longer those of the first weights
    yield made
    threads.close()


def gradient_of(loss, network):
    gradients = torch.autograd.grad(loss, network.parameters_to_learn())
    return torch.cat([gradient.flatten() for gradient in gradients])


def test_critics_follow_the_pooled_quantiles_without_the_largest(experiment, monkeypatch):
    algorithm = experiment.algorithm
    batch = algorithm.replay.sample(algorithm.batch, 0.0)
    obs, next_obs = batch.obs, batch.next_obs
    normals = torch.randn(32, 1)
    monkeypatch.setattr(algorithm, "next_draw", lambda name: normals)
    losses = algorithm.critic_losses(batch, obs, next_obs)
    gradient = losses.gradient.clone()

    # sb3-contrib's train(), where quantiles are [B, critics, quantiles].
    with torch.no_grad():
        drawn = algorithm.policy.draw(next_obs, normals)
        pooled = algorithm.target_critics(next_obs, drawn.actions).transpose(0, 1).reshape(32, -1)
        kept = pooled.sort(dim=1).values[:, : 2 * 7 - 2 * 2]
        soft = kept - algorithm.alpha * drawn.log_probs.unsqueeze(1)
        targets = batch.returns.unsqueeze(1) + batch.discounts.unsqueeze(1) * soft
    quantiles = algorithm.critics(obs, batch.actions).transpose(0, 1)
    expected = quantile_huber_loss(
        quantiles, targets.unsqueeze(1).expand(-1, 2, -1), sum_over_quantiles=False
    )
    torch.testing.assert_close(losses.loss, expected.detach(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        gradient, gradient_of(expected, algorithm.critics), rtol=1e-4, atol=1e-6
    )


def test_the_actor_follows_the_mean_of_all_quantiles(experiment, actor_step):
    algorithm = experiment.algorithm
    obs, normals = torch.randn(32, 3), torch.randn(32, 1)
    loss, gradient = actor_step(algorithm, obs, normals)

    policy = algorithm.policy
    mean, log_std = policy.network(obs).chunk(2, -1)
    distribution = TransformedDistribution(Normal(mean, log_std.exp()), TanhTransform())
    actions = torch.tanh(mean + log_std.exp() * normals)
    log_probs = distribution.log_prob(actions).sum(-1)
    values = algorithm.critics(obs, actions).mean((0, 2))
    expected = (algorithm.alpha * log_probs - values).mean()
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        gradient, gradient_of(expected, policy.network), rtol=1e-3, atol=1e-5
    )
