"""Distributions of returns: projection, cross-entropy and quantile losses."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.returns.distributional import (
    cross_entropy,
    projected,
    quantile_huber,
    truncated,
)


def project_one(return_, discount, probs, lowest=0.0, highest=4.0):
    found = projected(
        torch.tensor([return_]), torch.tensor([discount]), torch.tensor([probs]), lowest, highest
    )
    return found.squeeze(0).tolist()


ALL_ON_1 = [0.0, 1.0, 0.0, 0.0, 0.0]


def test_what_lands_between_two_atoms_is_shared_by_how_near_it_is():
    # atoms 0 to 4; 0.75 + 0.5 * 1 = 1.25
    assert project_one(0.75, 0.5, ALL_ON_1) == [0.0, 0.75, 0.25, 0.0, 0.0]


@pytest.mark.parametrize(("return_", "atom"), [(-1.0, 0), (0.0, 1), (1.0, 2), (3.0, 4)])
def test_what_lands_on_an_atom_is_all_its_own_at_both_ends_too(return_, atom):
    expected = [0.0] * 5
    expected[atom] = 1.0
    assert project_one(return_, 1.0, ALL_ON_1) == expected


def test_what_lands_beyond_the_ends_counts_at_them():
    assert project_one(-9.0, 1.0, ALL_ON_1) == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert project_one(50.0, 1.0, ALL_ON_1) == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_after_the_end_all_probability_is_at_the_reward():
    # atoms -1, -0.5, ..., 1; the reward is 0.25, whatever is said of what follows
    found = project_one(0.25, 0.0, [0.2] * 5, -1.0, 1.0)
    assert found == pytest.approx([0.0, 0.0, 0.5, 0.5, 0.0], abs=1e-6)


def test_no_probability_is_lost_and_the_mean_is_moved_and_shrunk():
    generator = torch.Generator().manual_seed(1)
    probs = torch.randn(100, 51, generator=generator).softmax(-1)
    returns = torch.randn(100, generator=generator)
    found = projected(returns, torch.full((100,), 0.9), probs, -40.0, 40.0)
    torch.testing.assert_close(found.sum(-1), torch.ones(100))
    atoms = torch.linspace(-40, 40, 51)
    torch.testing.assert_close(found @ atoms, returns + 0.9 * (probs @ atoms), rtol=1e-4, atol=1e-3)


def test_a_cross_entropy_is_least_where_probabilities_agree():
    # even logits: log 4 for any target; slope p - m
    loss = cross_entropy(torch.zeros(1, 4), torch.tensor([[0.5, 0.5, 0.0, 0.0]]))
    assert float(loss.values) == pytest.approx(1.386294)
    assert loss.slopes.tolist() == [[-0.25, -0.25, 0.25, 0.25]]


def test_quantiles_are_pulled_by_all_targets():
    # u = (1, -2) from 1 at tau 0.25: weights 0.25 and 0.75, huber 0.5 and 1.5;
    # mean of 0.125 and 1.125 = 0.625. From 0 at tau 0.5: u = (2, -1), weights 0.5,
    # huber 1.5 and 0.5: 0.5. Sum 1.125.
    loss = quantile_huber(
        torch.tensor([[1.0, 0.0]]), torch.tensor([0.25, 0.5]), torch.tensor([[2.0, -1.0]])
    )
    assert loss.values.tolist() == [1.125]
    # -(0.25 * 1 - 0.75 * 1) / 2 = 0.25, and -(0.5 - 0.5) / 2 = 0
    assert loss.slopes.tolist() == [[0.25, 0.0]]


def test_slopes_of_quantiles_are_the_derivatives():
    generator = torch.Generator().manual_seed(1)
    quantiles = torch.randn(9, 5, generator=generator).requires_grad_()
    taus, targets = torch.rand(9, 5, generator=generator), torch.randn(9, 7, generator=generator)
    loss = quantile_huber(quantiles, taus, 2 * targets)
    (expected,) = torch.autograd.grad(loss.values.sum(), quantiles)
    torch.testing.assert_close(loss.slopes.detach(), expected)


def test_the_largest_quantiles_of_all_critics_together_are_dropped():
    first, second = [[5.0, 1.0, 3.0]], [[9.0, 8.0, 2.0]]
    quantiles = torch.tensor([first, second])
    assert truncated(quantiles, 1).tolist() == [[1.0, 2.0, 3.0, 5.0]]  # both of the second's went
    assert truncated(quantiles, 0).tolist() == [[1.0, 2.0, 3.0, 5.0, 8.0, 9.0]]
