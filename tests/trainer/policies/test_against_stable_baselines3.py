"""Losses and gradients of one batch, beside Stable-Baselines3's with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from operant.trainer.envs import load_spec
from operant.trainer.policies.actors import DeterministicActor, SquashedGaussianActor
from operant.trainer.policies.critics import Critics
from operant.trainer.policies.value_network import make_value_network
from operant.trainer.returns.losses import huber, smallest, squared
from operant.trainer.returns.td import soft_value, td_target
from operant.trainer.settings.policy import PolicyConfig

pytest.importorskip("stable_baselines3")
from stable_baselines3 import DQN, SAC, TD3

CONFIG = PolicyConfig(hidden_sizes=(64, 64), activation="relu")
BATCH = 64
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def linears(module):
    return [layer for layer in module.modules() if isinstance(layer, torch.nn.Linear)]


@torch.no_grad()
def take_weights(network, *modules):
    """Make the copies of `network` what Stable-Baselines3's modules are."""
    for number, layers in enumerate(zip(*map(linears, modules), strict=True)):
        for weights, name in ((network.weights, "weight"), (network.biases, "bias")):
            values = torch.stack([getattr(layer, name) for layer in layers])
            weights[number].copy_(values.view_as(weights[number]))


def gradient_of(*modules):
    """Their gradients [P] in the order of our weights."""
    parts = []
    for layers in zip(*map(linears, modules), strict=True):
        for name in ("weight", "bias"):
            parts += [torch.stack([getattr(layer, name).grad for layer in layers]).flatten()]
    return torch.cat(parts)


def made(algorithm, env):
    policy = {"net_arch": [64, 64]}
    return algorithm("MlpPolicy", env, policy_kwargs=policy, device="cpu", seed=1, buffer_size=10)


class Transitions:
    """Random ones, some of which ended."""

    def __init__(self, obs_size, actions):
        self.obs, self.next_obs = torch.randn(2, BATCH, obs_size, generator=seeded(2)).unbind()
        self.actions = actions
        self.rewards = torch.randn(BATCH, generator=seeded(3))
        self.ended = torch.arange(BATCH) % 4 == 0
        self.discounts = 0.99 * ~self.ended


def test_dqn():
    theirs = made(DQN, "CartPole-v1")
    with torch.no_grad():
        for parameter in theirs.q_net_target.parameters():
            parameter.mul_(1.5)
    online = make_value_network(4, 2, CONFIG, seed=1)
    take_weights(online.layers, theirs.q_net)
    target = online.frozen_copy()
    take_weights(target.layers, theirs.q_net_target)
    batch = Transitions(4, torch.randint(2, (BATCH, 1), generator=seeded(4)))

    # As its `train` says it.
    with torch.no_grad():
        next_q = theirs.q_net_target(batch.next_obs).max(1)[0].reshape(-1, 1)
        rewards, ended = batch.rewards.unsqueeze(1), batch.ended.float().unsqueeze(1)
        targets = rewards + (1 - ended) * 0.99 * next_q
    taken = torch.gather(theirs.q_net(batch.obs), 1, batch.actions)
    expected = functional.smooth_l1_loss(taken, targets)
    expected.backward()

    with torch.no_grad():
        targets = td_target(batch.rewards, batch.discounts, target.values(batch.next_obs).amax(1))
        values, tape = online.taped(batch.obs)
        loss = huber(values.gather(1, batch.actions).squeeze(1) - targets)
        slopes = (loss.slopes / BATCH).unsqueeze(1)
        by_values = torch.zeros_like(values).scatter_(1, batch.actions, slopes)
    torch.testing.assert_close(loss.values.mean(), expected.detach(), **CLOSE)
    torch.testing.assert_close(online.gradient(tape, by_values), gradient_of(theirs.q_net), **CLOSE)


def test_sac(monkeypatch):
    theirs = made(SAC, "Pendulum-v1")
    actor = SquashedGaussianActor(load_spec("pendulum"), CONFIG, False, seed=1)
    latent, mean, log_std = theirs.actor.latent_pi, theirs.actor.mu, theirs.actor.log_std
    heads = torch.nn.Linear(64, 2)
    with torch.no_grad():
        heads.weight.copy_(torch.cat([mean.weight, log_std.weight]))
        heads.bias.copy_(torch.cat([mean.bias, log_std.bias]))
    take_weights(actor.network, torch.nn.Sequential(latent, heads))
    critics = Critics(3, 1, (64, 64), seed=1)
    take_weights(critics, *theirs.critic.q_networks)
    target = critics.frozen_copy()
    batch = Transitions(3, 2 * torch.rand(BATCH, 1, generator=seeded(4)) - 1)
    noise, next_noise = torch.randn(2, BATCH, 1, generator=seeded(5)).unbind()
    alpha = torch.tensor(0.2)

    def with_noise(obs, noise):
        monkeypatch.setattr(
            torch.distributions.Normal, "rsample", lambda self: self.loc + self.scale * noise
        )
        actions, log_prob = theirs.actor.action_log_prob(obs)
        return actions, log_prob.reshape(-1, 1)

    # As its `train` says it.
    actions, log_prob = with_noise(batch.obs, noise)
    with torch.no_grad():
        next_actions, next_log_prob = with_noise(batch.next_obs, next_noise)
        next_q = torch.cat(theirs.critic_target(batch.next_obs, next_actions), 1)
        next_q = next_q.min(1, keepdim=True)[0] - alpha * next_log_prob
        rewards, ended = batch.rewards.unsqueeze(1), batch.ended.float().unsqueeze(1)
        targets = rewards + (1 - ended) * 0.99 * next_q
    current = theirs.critic(batch.obs, batch.actions)
    critic_loss = 0.5 * sum(functional.mse_loss(q, targets) for q in current)
    critic_loss.backward()
    critic_gradient = gradient_of(*theirs.critic.q_networks)
    values = torch.cat(theirs.critic(batch.obs, actions), 1)
    actor_loss = (alpha * log_prob - values.min(1, keepdim=True)[0]).mean()
    actor_loss.backward()
    heads.weight.grad = torch.cat([mean.weight.grad, log_std.weight.grad])
    heads.bias.grad = torch.cat([mean.bias.grad, log_std.bias.grad])

    with torch.no_grad():
        drawn = actor.draw(batch.obs, noise)
        after = actor.draw(batch.next_obs, next_noise)
        next_values = target(batch.next_obs, after.actions)
        soft = soft_value(next_values, after.log_probs, alpha)
        values, tape = critics.taped(batch.obs, batch.actions)
        loss = squared(values - td_target(batch.rewards, batch.discounts, soft))
        torch.testing.assert_close(loss.values.mean(1).sum(), critic_loss.detach(), **CLOSE)
        found = critics.gradient(tape, loss.slopes / BATCH)
        torch.testing.assert_close(found, critic_gradient, **CLOSE)

        values, tape = critics.taped(batch.obs, drawn.actions)
        least = smallest(values)
        found_loss = (alpha * drawn.log_probs - least.values).mean()
        torch.testing.assert_close(found_loss, actor_loss.detach(), **CLOSE)
        by_actions = critics.action_gradient(tape, least.slopes / -BATCH)
        found = actor.gradient(drawn, by_actions, (alpha / BATCH).expand(BATCH))
    torch.testing.assert_close(found, gradient_of(torch.nn.Sequential(latent, heads)), **CLOSE)


def test_td3():
    theirs = made(TD3, "Pendulum-v1")
    actor = DeterministicActor(load_spec("pendulum"), CONFIG, False, seed=1)
    take_weights(actor.network, theirs.actor)
    target_actor = actor.network.frozen_copy()
    critics = Critics(3, 1, (64, 64), seed=1)
    take_weights(critics, *theirs.critic.q_networks)
    target = critics.frozen_copy()
    batch = Transitions(3, 2 * torch.rand(BATCH, 1, generator=seeded(4)) - 1)
    noise = (0.2 * torch.randn(BATCH, 1, generator=seeded(5))).clamp(-0.5, 0.5)

    # As its `train` says it.
    with torch.no_grad():
        next_actions = (theirs.actor_target(batch.next_obs) + noise).clamp(-1, 1)
        next_q = torch.cat(theirs.critic_target(batch.next_obs, next_actions), 1)
        next_q, _ = next_q.min(1, keepdim=True)
        rewards, ended = batch.rewards.unsqueeze(1), batch.ended.float().unsqueeze(1)
        targets = rewards + (1 - ended) * 0.99 * next_q
    current = theirs.critic(batch.obs, batch.actions)
    critic_loss = sum(functional.mse_loss(q, targets) for q in current)
    critic_loss.backward()
    critic_gradient = gradient_of(*theirs.critic.q_networks)
    actor_loss = -theirs.critic.q1_forward(batch.obs, theirs.actor(batch.obs)).mean()
    actor_loss.backward()

    with torch.no_grad():
        next_actions = (target_actor(batch.next_obs).tanh() + noise).clamp(-1, 1)
        next_values = target(batch.next_obs, next_actions).amin(0)
        values, tape = critics.taped(batch.obs, batch.actions)
        # Its loss is the whole square, ours half of it.
        loss = squared(values - td_target(batch.rewards, batch.discounts, next_values))
        torch.testing.assert_close(2 * loss.values.mean(1).sum(), critic_loss.detach(), **CLOSE)
        found = critics.gradient(tape, 2 * loss.slopes / BATCH)
        torch.testing.assert_close(found, critic_gradient, **CLOSE)

        actions, actor_tape = actor.taped(batch.obs)
        values, tape = critics.taped(batch.obs, actions)
        torch.testing.assert_close(-values[0].mean(), actor_loss.detach(), **CLOSE)
        by_values = torch.zeros_like(values)
        by_values[0] = -1 / BATCH
        found = actor.gradient(actor_tape, critics.action_gradient(tape, by_values))
    torch.testing.assert_close(found, gradient_of(theirs.actor), **CLOSE)
