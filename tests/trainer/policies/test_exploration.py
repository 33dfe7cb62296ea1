"""Exploration noise added to actions."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.envs.hosts import load_spec
from operant.trainer.policies.actor import GaussianNoise, StateDependentActor
from operant.trainer.settings.policy import PolicyConfig

CONFIG = PolicyConfig(hidden_sizes=(8, 6), activation="relu")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def take_noise(actor, seed):
    network = actor.network
    network.take_noise(torch.randn(network.num_noise, generator=seeded(seed)))


def test_gaussian_noise_stays_within_the_bounds():
    found = GaussianNoise(0.5)(torch.tensor([[0.0, 0.9]]), torch.tensor([[1.0, 1.0]]))
    assert found.tolist() == [[0.5, 1.0]]


def test_state_dependent_noise_is_the_same_until_it_is_drawn_anew():
    actor = StateDependentActor(load_spec("pendulum"), CONFIG, False, 1, num_rows=4000, std=0.05)
    obs = torch.tensor([[0.5, -0.2, 1.0]]).expand(4000, -1)
    take_noise(actor, 2)
    with torch.no_grad():
        actor.network.log_std.fill_(-0.5)
        take_noise(actor, 2)
        first, again = (actor.act(obs, torch.zeros(4000, 1))[0] for _ in range(2))
        take_noise(actor, 3)
        other = actor.act(obs, torch.zeros(4000, 1))[0]
        mean, log_std = actor.network(obs[:1]).squeeze(0).tolist()
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    # Over many environments u has the deviation that its probability is computed with.
    drawn = first.double().atanh()
    assert float(drawn.std()) == pytest.approx(torch.tensor(log_std).exp().item(), rel=0.05)
    assert float(drawn.mean()) == pytest.approx(mean, abs=0.05)


def test_a_loss_is_followed_through_state_dependent_noise():
    actor = StateDependentActor(load_spec("pendulum"), CONFIG, False, 1, num_rows=2, std=0.05)
    obs = torch.randn(7, 3, generator=seeded(2))
    drawn = actor.draw(obs, torch.randn(7, 1, generator=seeded(3)))
    gradient = actor.gradient(drawn, torch.ones(7, 1), torch.ones(7))
    assert gradient.shape == actor.flat_parameters.shape
    assert actor.network.parameters_to_learn()[0] is actor.network.log_std
    assert gradient[:6].any()


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_deviations_by_state_have_the_digits_of_float32_whatever_the_precision(precision):
    actor = StateDependentActor(load_spec("pendulum"), CONFIG, False, 1, num_rows=2, std=0.05)
    actor.network.set_precision(precision)
    _, log_stds = actor.network(torch.linspace(-1, 1, 64 * 3).view(64, 3)).chunk(2, -1)
    assert not torch.equal(log_stds, log_stds.to(precision).float())
