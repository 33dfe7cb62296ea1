"""Actions are drawn as the distribution says, and reach the environment in its units and bounds."""

from __future__ import annotations

import math

import pytest
import torch
from distribution_cases import (
    BETA,
    BOX,
    CATEGORICAL,
    COUNT,
    GAUSSIAN,
    MULTI,
    OF_BOXES,
    drawn,
)

from operant.shared.errors import ConfigError
from operant.trainer.policies.distributions import make_distribution
from operant.trainer.policies.distributions.beta import EDGE, Beta, alpha_and_beta
from operant.trainer.policies.distributions.categorical import Categorical, MultiCategorical
from operant.trainer.policies.distributions.gaussian import Gaussian
from operant.trainer.spaces import Box, Discrete, MultiDiscrete


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
