"""Log-probabilities, entropies and divergences belong to the distribution that is drawn from."""

from __future__ import annotations

import math

import pytest
import torch
from distribution_cases import (
    ALL,
    BETA,
    CATEGORICAL,
    COUNT,
    MULTI,
    OF_BOXES,
    SQUASHED,
    drawn,
    random_outputs,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import softplus

from operant.trainer.policies.distributions.beta import alpha_and_beta
from operant.trainer.policies.distributions.gaussian import SquashedGaussian
from operant.trainer.spaces import Box


@pytest.fixture(params=ALL)
def distribution(request):
    return ALL[request.param]


def theirs(distribution, outputs):
    """PyTorch's distribution of the stored actions, or of what they are squashed to."""
    if distribution is CATEGORICAL:
        return torch.distributions.Categorical(logits=outputs)
    if distribution is BETA:
        return torch.distributions.Independent(
            torch.distributions.Beta(*alpha_and_beta(outputs)), 1
        )
    mean, log_std = outputs.chunk(2, -1)
    normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
    if distribution is SQUASHED:
        normal = torch.distributions.TransformedDistribution(
            normal, torch.distributions.TanhTransform(cache_size=1)
        )
    return torch.distributions.Independent(normal, 1)


@pytest.mark.parametrize("name", ["categorical", *OF_BOXES])
@given(seed=st.integers(0, 2**31), spread=st.floats(0, 3))
@settings(max_examples=30, deadline=None)
def test_log_probabilities_are_those_of_torchs_own(name, seed, spread):
    distribution = ALL[name]
    outputs = random_outputs(distribution, 20, seed, spread)
    actions = distribution.sample(
        outputs, distribution.noise((20,), torch.Generator().manual_seed(seed))
    )
    found, _ = distribution.log_prob_and_entropy(outputs, actions)
    if distribution is SQUASHED:
        actions = actions.clamp(-4, 4)  # beyond, their atanh of a rounded tanh is wrong, not ours
        found, _ = distribution.log_prob_and_entropy(outputs, actions)
        expected = theirs(distribution, outputs.double()).log_prob(actions.double().tanh())
    else:
        expected = theirs(distribution, outputs.double()).log_prob(actions.double())
    torch.testing.assert_close(found.double(), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["categorical", "gaussian", "beta"])
@given(seed=st.integers(0, 2**31), spread=st.floats(0, 3))
@settings(max_examples=30, deadline=None)
def test_entropies_and_divergences_are_those_of_torchs_own(name, seed, spread):
    distribution = ALL[name]
    outputs, others = random_outputs(distribution, 20, seed, spread).chunk(2)
    ours, others_theirs = theirs(distribution, outputs), theirs(distribution, others)
    actions = drawn(distribution, outputs[0], 10)
    _, entropy = distribution.log_prob_and_entropy(outputs, actions)
    torch.testing.assert_close(entropy, ours.entropy().float(), rtol=1e-5, atol=1e-5)
    expected = torch.distributions.kl_divergence(ours, others_theirs).float()
    torch.testing.assert_close(distribution.kl(outputs, others), expected, rtol=1e-4, atol=1e-5)


def test_entropy_is_the_mean_of_the_negative_log_probability_of_samples(distribution):
    for outputs in random_outputs(distribution, 3, seed=4):
        actions = drawn(distribution, outputs, COUNT)
        log_prob, entropy = distribution.log_prob_and_entropy(outputs.expand(COUNT, -1), actions)
        error = log_prob.std().item() / math.sqrt(COUNT)
        assert entropy[0].item() == pytest.approx(-log_prob.mean().item(), abs=4 * error + 1e-3)


def test_divergence_is_the_mean_difference_of_log_probabilities(distribution):
    outputs, others = random_outputs(distribution, 2, seed=3, spread=0.5)
    actions = drawn(distribution, outputs, COUNT)
    log_prob, _ = distribution.log_prob_and_entropy(outputs.expand(COUNT, -1), actions)
    other, _ = distribution.log_prob_and_entropy(others.expand(COUNT, -1), actions)
    found = distribution.kl(outputs, others)
    assert found.item() == pytest.approx((log_prob - other).mean().item(), abs=0.02)
    assert distribution.kl(outputs, outputs).item() == pytest.approx(0, abs=1e-6)


def test_several_choices_have_the_sum_of_their_log_probabilities():
    outputs, actions = random_outputs(MULTI, 4), torch.tensor([[0, 1], [2, 0], [1, 1], [0, 0]])
    log_prob, entropy = MULTI.log_prob_and_entropy(outputs, actions)
    parts = [torch.distributions.Categorical(logits=x) for x in outputs.split([3, 2], -1)]
    expected = sum(part.log_prob(actions[:, i]) for i, part in enumerate(parts))
    torch.testing.assert_close(log_prob, expected)
    torch.testing.assert_close(entropy, sum(part.entropy() for part in parts))


@pytest.mark.parametrize("extreme", [0.0, 30.0, -30.0, 1e4, -1e4, 1e6, -1e6])
def test_probabilities_and_gradients_stay_finite_at_extremes(distribution, extreme):
    outputs = torch.full((2, distribution.num_outputs), extreme)
    outputs[1, ::2] *= -1  # such as mean and deviation, alpha and beta, at opposite ends
    outputs.requires_grad_()
    actions = distribution.sample(
        outputs.detach(), distribution.noise((2,), torch.Generator().manual_seed(1))
    )
    log_prob, entropy = distribution.log_prob_and_entropy(outputs, actions)
    (gradient,) = torch.autograd.grad((log_prob + entropy).sum(), outputs)
    for numbers in (actions.float(), log_prob, entropy, gradient):
        assert numbers.isfinite().all(), numbers


@pytest.mark.parametrize(("mean", "log_std"), [(0, -5), (0.3, -1), (-1, 0), (5, 1), (0.1, 2)])
def test_the_entropy_of_squashed_actions_is_the_integral(mean, log_std):
    one = SquashedGaussian(Box((-1.0,), (1.0,)))
    outputs = torch.tensor([[mean, log_std]], dtype=torch.float32)
    u = mean + math.exp(log_std) * torch.linspace(-8, 8, 200_001, dtype=torch.float64)
    normal = torch.distributions.Normal(mean, math.exp(log_std))
    log_density = normal.log_prob(u) - 2 * (math.log(2) - u - softplus(-2 * u))
    expected = torch.trapezoid(-log_density * normal.log_prob(u).exp(), u)
    _, entropy = one.log_prob_and_entropy(outputs, torch.zeros(1, 1))
    # Under the widest, tanh turns between two of the points.
    assert entropy.item() == pytest.approx(expected.item(), abs=0.02 if log_std == 2 else 1e-4)


@pytest.mark.parametrize("u", [0.0, 3.0, -10.0, 40.0, -90.0])
def test_squashing_is_right_where_tanh_rounds_to_one(u):
    outputs = torch.tensor([[u, 0.0, 0.0, 0.0]])
    actions = torch.tensor([[u, 0.0]])
    found, _ = SQUASHED.log_prob_and_entropy(outputs, actions)
    # -log(1 - tanh(u)^2) = 2 log cosh u, which is 2 (|u| - log 2) for large u
    log_cosh = abs(u) - math.log(2) + math.log1p(math.exp(-2 * abs(u)))
    assert found.item() == pytest.approx(-math.log(2 * math.pi) + 2 * log_cosh, rel=1e-5)
