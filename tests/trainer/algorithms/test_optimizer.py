"""Adam on one flat tensor equals PyTorch's, and a tensor on the device can switch a step off."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.algorithms.optimizer import EPSILON, FlatAdam, scaled_down


@pytest.mark.parametrize("as_tensor", [True, False])
def test_a_hundred_steps_are_those_of_pytorch(as_tensor):
    generator = torch.Generator().manual_seed(1)
    ours = torch.randn(50, generator=generator)
    theirs = torch.nn.Parameter(ours.clone())
    adam, reference = FlatAdam(ours), torch.optim.Adam([theirs], eps=EPSILON)
    for step in range(100):
        gradients = torch.randn(50, generator=generator)
        rate = 1e-2 / (step + 1)
        adam.step(gradients, torch.tensor(rate, dtype=torch.float64) if as_tensor else rate)
        reference.param_groups[0]["lr"] = rate
        theirs.grad = gradients
        reference.step()
    torch.testing.assert_close(ours, theirs.detach())
    assert adam.num_steps == 100


def test_a_step_that_is_not_active_moves_nothing_and_counts_for_nothing():
    ours, gradients = torch.ones(3), torch.tensor([1.0, -2.0, 3.0])
    adam = FlatAdam(ours)
    adam.step(gradients, 0.1, active=torch.ones((), dtype=torch.float64))
    before = ours.clone(), adam.state_dict()
    adam.step(gradients, 0.1, active=torch.zeros((), dtype=torch.float64))
    assert torch.equal(ours, before[0])
    assert adam.num_steps == 1
    assert torch.equal(adam.mean, before[1]["mean"])
    assert torch.equal(adam.square, before[1]["square"])


def test_gradients_are_scaled_down_to_the_largest_norm_allowed():
    gradients = torch.tensor([3.0, 4.0])
    assert scaled_down(gradients, 10.0) == 5.0
    assert gradients.tolist() == [3.0, 4.0]
    assert scaled_down(gradients, 0.5) == 5.0
    torch.testing.assert_close(gradients, torch.tensor([0.3, 0.4]))
