"""Samples, probabilities and entropies belong to one and the same distribution."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import softplus

from operant.shared.errors import ConfigError
from operant.trainer.distributions import make_distribution
from operant.trainer.distributions.beta import EDGE, Beta, alpha_and_beta
from operant.trainer.distributions.categorical import Categorical, MultiCategorical
from operant.trainer.distributions.gaussian import Gaussian, SquashedGaussian
from operant.trainer.envs.spec import Box, Discrete, MultiDiscrete

BOX = Box(low=(-2.0, 0.0), high=(2.0, 0.5))
CATEGORICAL = Categorical(Discrete(3))
MULTI = MultiCategorical(MultiDiscrete((3, 2)))
GAUSSIAN, SQUASHED, BETA = Gaussian(BOX), SquashedGaussian(BOX), Beta(BOX)
OF_BOXES = {"gaussian": GAUSSIAN, "squashed_gaussian": SQUASHED, "beta": BETA}
ALL = {"categorical": CATEGORICAL, "multi_categorical": MULTI, **OF_BOXES}
COUNT = 200_000


@pytest.fixture(params=ALL)
def distribution(request):
    return ALL[request.param]


def random_outputs(distribution, rows, seed=1, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(rows, distribution.num_outputs, generator=generator)


def drawn(distribution, outputs, count, seed=1):
    """`count` actions from one row of outputs."""
    noise = distribution.noise((count,), torch.Generator().manual_seed(seed))
    return distribution.sample(outputs.expand(count, -1), noise)


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


def test_discrete_actions_come_as_often_as_their_probability_says():
    outputs = torch.tensor([0.0, 1.0, 2.0, 5.0, 4.0])
    actions = drawn(MULTI, outputs, COUNT)
    for choice, part in enumerate(outputs.split([3, 2])):
        found = torch.bincount(actions[:, choice]) / COUNT
        torch.testing.assert_close(found, part.softmax(-1), atol=0.005, rtol=0)
    # One choice says nothing about the other.
    both = (actions[:, 0] == 2) & (actions[:, 1] == 0)
    expected = outputs[:3].softmax(-1)[2] * outputs[3:].softmax(-1)[0]
    assert both.float().mean().item() == pytest.approx(expected.item(), abs=0.005)


def test_several_choices_have_the_sum_of_their_log_probabilities():
    outputs, actions = random_outputs(MULTI, 4), torch.tensor([[0, 1], [2, 0], [1, 1], [0, 0]])
    log_prob, entropy = MULTI.log_prob_and_entropy(outputs, actions)
    parts = [torch.distributions.Categorical(logits=x) for x in outputs.split([3, 2], -1)]
    expected = sum(part.log_prob(actions[:, i]) for i, part in enumerate(parts))
    torch.testing.assert_close(log_prob, expected)
    torch.testing.assert_close(entropy, sum(part.entropy() for part in parts))


def test_every_noise_gives_a_choice_that_exists():
    outputs = torch.tensor([[0.1, 0.2, -30.0]]).expand(3, 3)
    noise = torch.tensor([0.0, 0.5, 1.0 - 2**-24])
    assert CATEGORICAL.sample(outputs, noise).tolist()[0] == 0
    assert CATEGORICAL.sample(outputs, noise).max() <= 2


@pytest.mark.parametrize("outputs", [(-20.0, -20.0), (0.0, 3.0), (50.0, 10.0), (9e3, 2e3)])
def test_beta_samples_have_the_mean_and_deviation_of_the_distribution(outputs):
    beta = Beta(Box((0.0,), (1.0,)))
    samples = drawn(beta, torch.tensor(outputs), COUNT).double()
    expected = torch.distributions.Beta(*alpha_and_beta(torch.tensor(outputs)))
    error = expected.stddev.item() / math.sqrt(COUNT)
    assert samples.mean().item() == pytest.approx(expected.mean.item(), abs=5 * error)
    assert samples.std().item() == pytest.approx(expected.stddev.item(), rel=0.01)


def test_the_greedy_action_is_the_likeliest_or_the_mean():
    outputs = torch.tensor([[0.0, 1.0, 2.0], [5.0, 4.0, -5.0]])
    assert CATEGORICAL.mode(outputs).tolist() == [2, 0]
    assert MULTI.mode(torch.tensor([[0.0, 1.0, 2.0, 4.0, 3.0]])).tolist() == [[2, 0]]
    means_and_log_stds = torch.tensor([[0.5, -0.1, -1.0, 1.0]])
    torch.testing.assert_close(GAUSSIAN.mode(means_and_log_stds), torch.tensor([[0.5, -0.1]]))
    middle = BETA.env_actions(BETA.mode(torch.zeros(1, 4)))
    torch.testing.assert_close(middle, torch.tensor([[0.0, 0.25]]))


@pytest.mark.parametrize("name", OF_BOXES)
@pytest.mark.parametrize("outputs", [0.0, 1e4, -1e4])
def test_the_environment_gets_actions_within_its_bounds(name, outputs):
    distribution = OF_BOXES[name]
    rows = torch.full((distribution.num_outputs,), outputs)
    actions = distribution.env_actions(drawn(distribution, rows, 1000))
    assert (actions >= torch.tensor(BOX.low)).all()
    assert (actions <= torch.tensor(BOX.high)).all()


@pytest.mark.parametrize("name", OF_BOXES)
def test_the_bounds_are_reached(name):
    far = torch.tensor([[-1e3, 1e3]]) if name != "beta" else torch.tensor([[EDGE, 1 - EDGE]])
    expected = torch.tensor([[BOX.low[0], BOX.high[1]]])
    torch.testing.assert_close(OF_BOXES[name].env_actions(far), expected, rtol=1e-4, atol=1e-4)


def test_gaussian_actions_without_bounds_are_in_the_environments_own_units():
    free = Gaussian(Box((-math.inf, 1.0), (math.inf, math.inf)))
    found = free.env_actions(torch.tensor([[-123.0, 0.5], [7.0, 50.0]]))
    assert found.tolist() == [[-123.0, 1.0], [7.0, 50.0]]


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


def test_outputs_in_bfloat16_give_probabilities_in_float32(distribution):
    outputs = random_outputs(distribution, 8)
    outputs = outputs.bfloat16().float()
    actions = distribution.sample(
        outputs, distribution.noise((8,), torch.Generator().manual_seed(1))
    )
    exact = distribution.log_prob_and_entropy(outputs, actions)
    found = distribution.log_prob_and_entropy(outputs.bfloat16(), actions)
    for a, b in zip(found, exact, strict=True):
        assert a.dtype == torch.float32
        assert (a == b).all()


def test_each_action_space_gets_the_distribution_that_suits_it():
    assert isinstance(make_distribution(Discrete(2)), Categorical)
    assert isinstance(make_distribution(MultiDiscrete((2, 3))), MultiCategorical)
    assert type(make_distribution(BOX)) is Gaussian
    for name, distribution in OF_BOXES.items():
        assert type(make_distribution(BOX, name)) is type(distribution)


@pytest.mark.parametrize(
    ("actions", "name", "words"),
    [
        (Discrete(2), "beta", "'beta' is for real-valued actions"),
        (Box((0.0,), (math.inf,)), "beta", "'beta' needs finite bounds"),
        (Box((-math.inf,), (math.inf,)), "squashed_gaussian", "needs finite bounds"),
    ],
)
def test_a_distribution_that_does_not_suit_the_actions_is_refused(actions, name, words):
    with pytest.raises(ConfigError, match=words):
        make_distribution(actions, name)
