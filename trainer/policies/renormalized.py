"""Networks with batch renormalisation before every linear layer.

Source: Ioffe 2017, arXiv:1702.03275; the constants are CrossQ's, Bhatt et al. 2024,
arXiv:1902.05605.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .encoded import ActionNetwork
from .mlp import ACTIVATIONS, in_precision
from .network import Network

EPSILON, MOMENTUM = 1e-3, 0.01
MAX_SCALE, MAX_SHIFT = 3.0, 5.0  # r and d of the paper
WARMUP_STEPS = 100_000  # batches that are normalised by their own moments alone


class BatchRenorm(nn.Module):
    """y = scale (x - mean) / sqrt(variance + epsilon) + shift, over the samples of a batch [..., B,
    F]; with the running moments in `forward`, with the batch's own in `of_batch`.
    """

    def __init__(self, copies: tuple[int, ...], size: int) -> None:
        """`copies` is empty for a single layer, or has the number of independent ones."""
        super().__init__()
        shape = (*copies, 1, size)
        self.scale, self.shift = nn.Parameter(torch.ones(shape)), nn.Parameter(torch.zeros(shape))
        self.mean: Tensor
        self.variance: Tensor
        self.num_batches: Tensor
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("variance", torch.ones(shape))
        self.register_buffer("num_batches", torch.zeros(()))
        self._newest: tuple[Tensor, Tensor] | None = None  # moments of the last batch

    def forward(self, x: Tensor) -> Tensor:
        return self._normalized(x.float(), self.mean, self.variance)

    def of_batch(self, x: Tensor) -> Tensor:
        """`x` normalised by its batch moments. After warm-up r and d, which are limited, correct it
        towards what the running moments would give.
        """
        x = x.float()
        variance, mean = torch.var_mean(x, -2, keepdim=True)
        self._newest = mean.detach(), variance.detach()
        running_std = (self.variance + EPSILON).sqrt()
        r = ((variance.detach() + EPSILON).sqrt() / running_std).clamp(1 / MAX_SCALE, MAX_SCALE)
        d = ((mean.detach() - self.mean) / running_std).clamp(-MAX_SHIFT, MAX_SHIFT)
        is_warm = self.num_batches > WARMUP_STEPS
        r, d = torch.where(is_warm, r, 1.0), torch.where(is_warm, d, 0.0)
        return self._normalized(x, mean - d * variance.sqrt() / r, variance / r**2)

    def _normalized(self, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        normalized: Tensor = (x - mean) / (variance + EPSILON).sqrt()
        return self.scale * normalized + self.shift

    @torch.no_grad()
    def follow_batch(self, active: Tensor | None) -> None:
        """Move the running moments towards those of the last batch, unless `active` [] is 0."""
        assert self._newest
        for running, newest in zip((self.mean, self.variance), self._newest, strict=True):
            moved = running.lerp(newest, MOMENTUM)
            running.copy_(moved if active is None else torch.where(active > 0, moved, running))
        self.num_batches += 1.0 if active is None else (active > 0).float()


class RenormNetwork(Network):
    """Inputs [B, in] through layers, each a renormalisation, a product, and but for the last an
    activation, to outputs [B, out], or [copies, B, out] of several copies.
    """

    def __init__(
        self, sizes: Sequence[int], activation: str, num_copies: int = 1, *, seed: int
    ) -> None:
        """Weights are drawn from `seed` alone, uniformly within 1 / sqrt(in)."""
        super().__init__()
        copies = (num_copies,) if num_copies > 1 else ()
        generator = torch.Generator().manual_seed(seed)
        self.norms: Any = nn.ModuleList(BatchRenorm(copies, size) for size in sizes[:-1])
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in itertools.pairwise(sizes):
            bound = 1 / math.sqrt(inputs)
            for shape, into in (((inputs, outputs), self.weights), ((1, outputs), self.biases)):
                drawn = torch.empty((*copies, *shape)).uniform_(-bound, bound, generator=generator)
                into.append(nn.Parameter(drawn))
        self.activation = ACTIVATIONS[activation]()
        self._is_batch = False
        self.flatten()

    @in_precision
    def forward(self, x: Tensor) -> Tensor:
        last = len(self.weights) - 1
        layers = zip(self.norms, self.weights, self.biases, strict=True)
        for number, (norm, weight, bias) in enumerate(layers):
            x = norm.of_batch(x) if self._is_batch else norm(x)
            x = x @ weight + bias
            x = x if number == last else self.activation(x)
        return x

    def taped_batch(self, *inputs: Tensor) -> tuple[Tensor, Any]:
        """`taped` with the moments of this batch in place of the running ones."""
        self._is_batch = True
        try:
            return self.taped(*inputs)
        finally:
            self._is_batch = False

    def follow_batch(self, active: Tensor | None) -> None:
        """`BatchRenorm.follow_batch` of all layers."""
        for norm in self.norms:
            norm.follow_batch(active)

    @property
    def moments(self) -> Tensor:
        """The running moments of all layers, side by side; set them by `load_moments`."""
        return torch.cat([buffer.flatten() for buffer in self.buffers()])

    def load_moments(self, moments: Tensor) -> None:
        parts = torch.split(moments, [buffer.numel() for buffer in self.buffers()])
        for buffer, part in zip(self.buffers(), parts, strict=True):
            buffer.copy_(part.view_as(buffer))


class RenormCritics(RenormNetwork, ActionNetwork):
    """Values Q_i(s, a) [copies, B] of observations [B, obs_size] and actions [B, action_size]."""

    def forward(self, obs: Tensor, actions: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(torch.cat([obs, actions], -1)).squeeze(-1)
