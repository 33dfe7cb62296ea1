"""The base of networks whose weights are one flat tensor and whose gradient is another."""

from __future__ import annotations

import copy
from typing import Any, Self

import torch
from torch import Tensor, nn

from .mlp import flattened


class Network(nn.Module):
    """A module whose weights and biases are views of `flat_parameters` [P].

    `taped` computes outputs and keeps what `gradient` needs to turn a loss's derivative by the
    outputs into its derivative by the weights. Here automatic differentiation does that; networks
    that are evaluated thousands of times a second overwrite both methods.
    """

    flat_parameters: Tensor
    precision = torch.float32  # of products
    # Whether sums over some hundred samples are the same bit for bit with any number of threads.
    is_exact_with_threads = False

    def set_precision(self, dtype: torch.dtype) -> None:
        """Compute products in `dtype` from now on; weights and gradients stay float32."""
        for module in self.modules():
            if isinstance(module, Network):
                module.precision = dtype

    def flatten(self) -> None:
        """Move the weights side by side; for when all of them are there, and after each move."""
        self.flat_parameters = flattened(self.parameters_to_learn())

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.flatten()

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        return list(self.parameters())

    def taped(self, *inputs: Tensor) -> tuple[Tensor, Any]:
        """Outputs for `inputs`, which no gradient is followed through, and the tape of it."""
        with torch.enable_grad():
            outputs: Tensor = self(*inputs)
        return outputs.detach(), outputs

    def gradient(self, tape: Any, by_outputs: Tensor) -> Tensor:
        """The derivative of a loss by all weights [P], from that by the outputs on the tape."""
        gradients = torch.autograd.grad(tape, self.parameters_to_learn(), by_outputs)
        return torch.cat([gradient.flatten() for gradient in gradients])

    def frozen_copy(self) -> Self:
        """A copy with weights of its own, which are not learned."""
        copied = copy.deepcopy(self).requires_grad_(False)
        copied.flatten()
        return copied

    @torch.no_grad()
    def follow(self, other: Network, fraction: float = 1.0) -> None:
        """Move the weights this `fraction` of the way to those of `other`; all of it is a copy.

        theta' <- theta' + tau * (theta - theta'). Source: Lillicrap et al. 2016, arXiv:1509.02971.
        """
        if fraction == 1:
            self.flat_parameters.copy_(other.flat_parameters)
        else:
            self.flat_parameters.lerp_(other.flat_parameters, fraction)
