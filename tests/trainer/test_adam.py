"""Our Adam is PyTorch's."""

from __future__ import annotations

import torch

from operant.trainer.adam import EPSILON, Adam


def test_a_hundred_steps_are_those_of_pytorch():
    generator = torch.Generator().manual_seed(1)
    ours = torch.randn(50, generator=generator)
    theirs = torch.nn.Parameter(ours.clone())
    adam, reference = Adam(ours), torch.optim.Adam([theirs], eps=EPSILON)
    for step in range(100):
        gradients = torch.randn(50, generator=generator)
        rate = 1e-2 / (step + 1)
        adam.step(gradients, rate)
        reference.param_groups[0]["lr"] = rate
        theirs.grad = gradients
        reference.step()
    torch.testing.assert_close(ours, theirs.detach())
