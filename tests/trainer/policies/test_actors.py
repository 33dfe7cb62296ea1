"""Policies of real-valued actions that learn through a critic."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Normal

from operant.shared.errors import ConfigError
from operant.trainer.envs.hosts import load_spec
from operant.trainer.policies.actor import DeterministicActor, SquashedGaussianActor
from operant.trainer.policies.distributions.squashing import (
    ARCTAN,
    SQUASHES,
    squashed,
    squashed_slopes,
)
from operant.trainer.settings.policy import PolicyConfig
from operant.trainer.spaces import Box, Spaces, symmetric_box

CONFIG = PolicyConfig(hidden_sizes=(8, 6), activation="relu")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def spaces_of(actions):
    return Spaces("toy", 4, actions)


BOUNDS = Box((-2.0, 0.0), (2.0, 6.0))


def test_log_probabilities_of_squashed_actions_are_exact():
    # mean 0, deviation 1, drawn at 1: a = tanh(1);
    # log p = -1/2 - log sqrt(2 pi) - log(1 - tanh(1)^2) = -0.5 - 0.918939 + 0.867562
    drawn = squashed(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0]]))
    assert float(drawn.actions) == pytest.approx(math.tanh(1))
    assert float(drawn.log_probs) == pytest.approx(-0.551377, abs=1e-5)
    outputs, noise = (
        torch.randn(50, 6, generator=seeded(1)).clamp(max=2),
        torch.randn(50, 3, generator=seeded(2)),
    )
    mean, log_std = outputs.double().chunk(2, -1)
    u = mean + log_std.exp() * noise
    # 1 - tanh(u)^2 = 1 / cosh(u)^2
    log_cosh = torch.logaddexp(u, -u) - math.log(2)
    expected = (Normal(mean, log_std.exp()).log_prob(u) + 2 * log_cosh).sum(-1)
    found = squashed(outputs, noise).log_probs
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)


def test_actions_at_the_bounds_have_finite_log_probabilities_and_slopes():
    drawn = squashed(torch.tensor([[40.0, -40.0, 0.0, 0.0]]), torch.tensor([[0.0, 0.0]]))
    assert drawn.actions.tolist() == [[1.0, -1.0]]
    # twice: -log sqrt(2 pi) - 2 (log 2 - 40) = -0.918939 + 78.613706
    assert float(drawn.log_probs) == pytest.approx(2 * 77.694767, rel=1e-6)
    slopes = squashed_slopes(drawn, torch.ones(1, 2), torch.ones(1))
    # by the means 2 a; by the logarithms of deviations -1
    assert slopes.tolist() == [[2.0, -2.0, -1.0, -1.0]]


@pytest.mark.parametrize("u", [-30.0, -1.0, 0.0, 0.3, 5.0])
def test_arctan_takes_outputs_to_actions_with_the_probabilities_of_that(u):
    # a = (2 / pi) atan u, da/du = (2 / pi) / (1 + u^2): the authors' own formula is that of tanh.
    drawn = squashed(torch.tensor([[u, 0.0]]), torch.zeros(1, 1), ARCTAN)
    assert float(drawn.actions) == pytest.approx(2 / math.pi * math.atan(u))
    slope = 2 / math.pi / (1 + u * u)
    expected = -0.5 * math.log(2 * math.pi) - math.log(slope)
    assert float(drawn.log_probs) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("squash", SQUASHES.values(), ids=SQUASHES)
def test_slopes_of_squashed_actions_are_those_of_automatic_differentiation(squash):
    outputs = (2 * torch.randn(50, 6, generator=seeded(1))).double()
    outputs[0, 3:], outputs[1, 3:] = 3.0, -21.0  # beyond the limits, where nothing is learned
    outputs.requires_grad_()
    noise = torch.randn(50, 3, generator=seeded(2)).double()
    by_actions = torch.randn(50, 3, generator=seeded(3)).double()
    by_log_probs = torch.randn(50, generator=seeded(4)).double()
    drawn = squashed(outputs, noise, squash)
    loss = (drawn.actions * by_actions).sum() + (drawn.log_probs * by_log_probs).sum()
    (expected,) = torch.autograd.grad(loss, outputs)
    with torch.no_grad():
        found = squashed_slopes(squashed(outputs, noise, squash), by_actions, by_log_probs)
    torch.testing.assert_close(found, expected)
    assert not found[:2, 3:].any()


def test_a_loss_is_followed_through_the_drawn_actions_to_all_weights():
    actor = SquashedGaussianActor(spaces_of(BOUNDS), CONFIG, False, seed=1)
    obs, noise = torch.randn(7, 4, generator=seeded(2)), actor.noise((7,), seeded(3))
    by_actions = torch.randn(7, 2, generator=seeded(4))
    by_log_probs = torch.randn(7, generator=seeded(5))
    sample = squashed(actor.network(obs), noise)
    loss = (sample.actions * by_actions).sum() + (sample.log_probs * by_log_probs).sum()
    gradients = torch.autograd.grad(loss, actor.parameters_to_learn())
    with torch.no_grad():
        found = actor.gradient(actor.draw(obs, noise), by_actions, by_log_probs)
    torch.testing.assert_close(found, torch.cat([x.flatten() for x in gradients]))


@pytest.mark.parametrize("squash", SQUASHES.values(), ids=SQUASHES)
def test_a_loss_is_followed_through_the_one_action_to_all_weights(squash):
    actor = DeterministicActor(spaces_of(BOUNDS), CONFIG, False, seed=1, squash=squash)
    obs = torch.randn(7, 4, generator=seeded(2))
    by_actions = torch.randn(7, 2, generator=seeded(4))
    loss = (actor.best(obs) * by_actions).sum()
    gradients = torch.autograd.grad(loss, actor.parameters_to_learn())
    actions, tape = actor.taped(obs)
    torch.testing.assert_close(actions, actor.best(obs).detach())
    torch.testing.assert_close(
        actor.gradient(tape, by_actions), torch.cat([x.flatten() for x in gradients])
    )


@pytest.mark.parametrize("kind", [SquashedGaussianActor, DeterministicActor])
def test_actions_are_kept_in_half_ranges_and_given_in_the_environments_units(kind):
    actor = kind(spaces_of(BOUNDS), CONFIG, True, seed=1)
    # -1 and 1 are the bounds, 0 their middle: 0 and 3
    kept = torch.tensor([[-1.0, 1.0], [0.0, 0.0], [0.5, -0.5]])
    assert actor.env_actions(kept).tolist() == [[-2.0, 6.0], [0.0, 3.0], [1.0, 1.5]]
    obs = torch.randn(100, 4, generator=seeded(2))
    actions, log_probs = actor.act(obs, actor.noise((100,), seeded(3)))
    assert log_probs is None
    assert actions.shape == (100, 2)
    assert actions.abs().max() <= 1


@pytest.mark.parametrize("kind", [SquashedGaussianActor, DeterministicActor])
def test_a_part_of_actions_is_random_whatever_the_actor_says(kind):
    actor = kind(spaces_of(BOUNDS), CONFIG, False, seed=1, is_epsilon_greedy=True)
    same = kind(spaces_of(BOUNDS), CONFIG, False, seed=1)
    obs = torch.randn(20_000, 4, generator=seeded(2))
    noise = actor.noise((20_000,), seeded(3))
    assert noise.shape == (20_000, 3)  # two actions, and whether they are random
    expected, _ = same.act(obs, noise[:, :2])
    assert torch.equal(actor.act(obs, noise)[0], expected)  # epsilon is 0
    actor.epsilon.fill_(0.3)
    actions, _ = actor.act(obs, noise)
    is_random = (actions != expected).any(1)
    # 0.3 of 20,000 within four deviations, sqrt(0.3 x 0.7 / 20,000) = 0.0032
    assert float(is_random.float().mean()) == pytest.approx(0.3, abs=0.013)
    # Uniform on [-1, 1]: deviation 1 / sqrt(3)
    assert float(actions[is_random].detach().std()) == pytest.approx(1 / math.sqrt(3), abs=0.01)
    actor.epsilon.fill_(1.0)
    assert (actor.act(obs, noise)[0] != expected).any(1).all()


@pytest.mark.parametrize("actions", [symmetric_box(1.0, math.inf), load_spec("cart_pole").actions])
def test_actions_without_finite_bounds_and_choices_are_refused(actions):
    with pytest.raises(ConfigError, match=r"no finite bounds|are discrete"):
        SquashedGaussianActor(spaces_of(actions), CONFIG, False, seed=1)
