"""Losses and their slopes, with literal numbers and against automatic differentiation."""

from __future__ import annotations

import torch
from torch.nn import functional

from operant.trainer.returns.losses import huber, smallest, squared


def test_a_squared_loss_is_half_the_square():
    loss = squared(torch.tensor([-3.0, 0.0, 2.0]))
    assert loss.values.tolist() == [4.5, 0.0, 2.0]
    assert loss.slopes.tolist() == [-3.0, 0.0, 2.0]


def test_a_huber_loss_is_squared_near_zero_and_linear_beyond():
    loss = huber(torch.tensor([-3.0, -1.0, 0.5, 2.0]))
    # 3 - 1/2, 1/2, 0.25/2, 2 - 1/2
    assert loss.values.tolist() == [2.5, 0.5, 0.125, 1.5]
    assert loss.slopes.tolist() == [-1.0, -1.0, 0.5, 1.0]


def test_a_huber_loss_is_torchs_and_its_slope_the_derivative():
    errors = 3 * torch.randn(200, generator=torch.Generator().manual_seed(1))
    errors.requires_grad_()
    theirs = functional.huber_loss(errors, torch.zeros(200), reduction="none")
    loss = huber(errors.detach())
    torch.testing.assert_close(loss.values, theirs.detach())
    torch.testing.assert_close(loss.slopes, *torch.autograd.grad(theirs.sum(), errors))


def test_of_several_estimates_the_smallest_alone_is_learned_from():
    found = smallest(torch.tensor([[1.0, 4.0], [3.0, 2.0]]))
    assert found.values.tolist() == [1.0, 2.0]
    assert found.slopes.tolist() == [[1.0, 0.0], [0.0, 1.0]]
