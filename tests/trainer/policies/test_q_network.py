"""Action values, and what is done by them."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.envs.hosts import load_spec
from operant.trainer.policies.q_network import QPolicy
from operant.trainer.policies.value_network import make_layer_norm_network
from operant.trainer.settings.policy import PolicyConfig


def small_network(obs_size, num_actions):
    return make_layer_norm_network(obs_size, num_actions, PolicyConfig(hidden_sizes=(8, 8)), seed=1)


@pytest.fixture
def policy():
    """A three-layer CartPole policy with randomly shifted weights."""
    policy = QPolicy(load_spec("cart_pole"), small_network, True)
    with torch.no_grad():
        policy.flat_parameters += 0.1 * torch.randn(
            len(policy.flat_parameters), generator=torch.Generator().manual_seed(2)
        )
    return policy


def test_hidden_layers_are_normalised_before_their_activations(policy):
    kinds = [type(layer).__name__ for layer in policy.network.layers]
    assert kinds == ["Linear", "LayerNorm", "Tanh", "Linear", "LayerNorm", "Tanh", "Linear"]
    # So a layer's weights, ten times as large, change next to nothing.
    obs = torch.randn(5, 4, generator=torch.Generator().manual_seed(3))
    before = policy.values(obs).detach()
    with torch.no_grad():
        policy.network.layers[3].weight *= 10
        policy.network.layers[3].bias *= 10
    torch.testing.assert_close(policy.values(obs).detach(), before, rtol=1e-3, atol=1e-3)


def test_as_many_actions_are_random_as_epsilon_says(policy):
    generator = torch.Generator().manual_seed(4)
    obs = torch.randn(20_000, 4, generator=generator)
    greedy = policy.greedy(obs)
    noise = policy.noise((20_000,), generator)
    for epsilon, differing in ((0.0, 0.0), (0.2, 0.1), (1.0, 0.5)):  # half of the random are best
        policy.epsilon.fill_(epsilon)
        actions, log_probs = policy.act(obs, noise)
        assert log_probs is None
        assert actions.dtype == torch.int64
        # The standard deviation of the share is at most 0.0036.
        assert abs((actions != greedy).float().mean() - differing) < 0.018
