"""Layers whose weights are noisy, so that exploring is learned."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class NoisyLinear(nn.Module):
    """A linear layer with factorised noise on its weights and biases.

        y = (mu_w + sigma_w * f(e_out) f(e_in)^T) x + mu_b + sigma_b * f(e_out)
            f(e) = sgn(e) sqrt|e|

    `noise` [in + out] are the f(e), zeros at first; with zeros the layer is the one of its means.
    First means are uniform within 1 / sqrt(in), first deviations `initial_std` / sqrt(in).
    Source: Fortunato et al. 2018, arXiv:1706.10295, sections 3.1 and 3.2.
    """

    def __init__(self, inputs: int, outputs: int, initial_std: float) -> None:
        super().__init__()
        self.inputs = inputs
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs))
        std = initial_std / math.sqrt(inputs)
        self.weight_std = nn.Parameter(torch.full((outputs, inputs), std))
        self.bias_std = nn.Parameter(torch.full((outputs,), std))
        self.noise: Tensor
        self.register_buffer("noise", torch.zeros(inputs + outputs))
        self.is_noisy = True
        self.row_noise: Tensor | None = None  # [B, in + out], in its place for a while

    def forward(self, x: Tensor) -> Tensor:
        if not self.is_noisy:
            return functional.linear(x, self.weight, self.bias)
        if self.row_noise is not None:
            return self._with_noise_of_rows(x, self.row_noise)
        by_input, by_output = self.noise[: self.inputs], self.noise[self.inputs :]
        weight = torch.addcmul(self.weight, self.weight_std, torch.outer(by_output, by_input))
        bias = torch.addcmul(self.bias, self.bias_std, by_output)
        return functional.linear(x, weight, bias)

    def _with_noise_of_rows(self, x: Tensor, noise: Tensor) -> Tensor:
        """Noise of rank 1 needs no matrix for each row: f(e_out) * (sigma_w (f(e_in) * x))."""
        noise = noise.repeat_interleave(len(x) // len(noise), 0)  # where rows are several fractions
        by_input, by_output = noise[:, : self.inputs], noise[:, self.inputs :]
        noisy = functional.linear(x * by_input, self.weight_std, self.bias_std)
        return torch.addcmul(functional.linear(x, self.weight, self.bias), noisy, by_output)

    @torch.no_grad()
    def take_noise(self, normals: Tensor) -> None:
        """Have the noise made from `normals` [in + out], standard normal numbers."""
        self.noise.copy_(shaped(normals))


def shaped(normals: Tensor) -> Tensor:
    """f(e) of standard normal numbers."""
    return normals.sign() * normals.abs().sqrt()
