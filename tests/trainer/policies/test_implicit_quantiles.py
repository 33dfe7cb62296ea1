"""Quantiles at any fraction, of choices and of real-valued actions."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from operant.trainer.policies.implicit_quantiles import (
    CosineEmbedding,
    make_implicit_quantiles,
    make_quantile_critic,
)
from operant.trainer.settings.policy import PolicyConfig

CONFIG = PolicyConfig(hidden_sizes=(8, 6), activation="relu")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_fractions_are_embedded_by_cosines():
    embedding = CosineEmbedding(1)
    with torch.no_grad():
        embedding.linear.weight.zero_()
        embedding.linear.bias.fill_(2.0)
        embedding.linear.weight[0, 0], embedding.linear.weight[0, 2] = 1.0, 1.0
        # cos(0) + cos(2 pi / 3) + 2 = 1 - 0.5 + 2
        found = embedding(torch.tensor([[1 / 3]]))
    assert found.shape == (1, 1, 1)
    assert float(found) == pytest.approx(2.5)


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("noisy_std", [None, 0.5])
def test_each_fraction_has_quantiles_of_all_actions(dueling, noisy_std):
    network = make_implicit_quantiles(4, 3, CONFIG, 1, dueling=dueling, noisy_std=noisy_std)
    obs, taus = torch.randn(7, 4, generator=seeded(2)), torch.rand(7, 5, generator=seeded(3))
    quantiles, tape = network.taped(obs, taus)
    assert quantiles.shape == (7, 5, 3)
    # One by one they are the same.
    alone = network(obs[3:4], taus[3:4, 2:3]).detach()
    torch.testing.assert_close(alone, quantiles[3:4, 2:3])
    gradient = network.gradient(tape, torch.ones_like(quantiles))
    assert gradient.shape == network.flat_parameters.shape
    assert torch.equal(
        network.flat_parameters,
        make_implicit_quantiles(
            4, 3, CONFIG, 1, dueling=dueling, noisy_std=noisy_std
        ).flat_parameters,
    )


def test_acting_with_care_looks_at_the_lower_part_alone():
    network = make_implicit_quantiles(4, 3, CONFIG, 1)
    obs = torch.randn(7, 4, generator=seeded(2))
    # 32 fractions in the middles of equal parts of [0, 1], and of [0, 0.25]
    middles = (torch.arange(32) + 0.5) / 32
    for risk in (1.0, 0.25):
        network.risk.fill_(risk)
        expected = network(obs, (risk * middles).expand(7, -1)).mean(1)
        torch.testing.assert_close(network.values(obs), expected)


class Objects(nn.Module):
    """An encoder of two objects, the second of which may be masked away."""

    num_features = 6

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1, 3)
        nn.init.constant_(self.linear.weight, 0.5)  # so that the first object is seen
        nn.init.zeros_(self.linear.bias)

    def forward(self, obs):
        first, second = self.linear(obs[:, :1]).relu(), self.linear(obs[:, 1:2]).relu()
        return torch.cat([first, second * obs[:, 2:]], -1)


def test_an_environments_encoder_is_learned_with_the_rest():
    network = make_implicit_quantiles(3, 2, CONFIG, 1, encoder=Objects())
    obs, taus = torch.tensor([[1.0, 5.0, 0.0], [1.0, -7.0, 0.0]]), torch.rand(1, 4).expand(2, -1)
    quantiles, tape = network.taped(obs, taus)
    assert torch.equal(quantiles[0], quantiles[1])  # what is masked makes no difference
    gradient = network.gradient(tape, torch.ones_like(quantiles))
    assert network.parameters_to_learn()[0] is network.encoder.linear.weight
    assert gradient[:3].any()


def test_a_critic_of_quantiles_gives_slopes_by_weights_and_actions():
    critic = make_quantile_critic(4, 2, CONFIG, 1)
    obs, taus = torch.randn(7, 4, generator=seeded(2)), torch.rand(7, 5, generator=seeded(3))
    actions = torch.rand(7, 2, generator=seeded(4)).requires_grad_()
    quantiles, tape = critic.taped(obs, actions.detach(), taus)
    assert quantiles.shape == (7, 5)
    by_quantiles = torch.randn(7, 5, generator=seeded(5))
    (expected,) = torch.autograd.grad(critic(obs, actions, taus), actions, by_quantiles)
    torch.testing.assert_close(critic.action_gradient(tape, by_quantiles), expected)
    _, tape = critic.taped(obs, actions.detach(), taus)
    gradients = torch.autograd.grad(
        critic(obs, actions, taus), critic.parameters_to_learn(), by_quantiles
    )
    torch.testing.assert_close(
        critic.gradient(tape, by_quantiles), torch.cat([x.flatten() for x in gradients])
    )
    assert torch.equal(critic.frozen_copy()(obs, actions, taus), critic(obs, actions, taus))
