"""Layers that remember: LSTM and GRU over rows of steps, with exact resets inside them.

A row is a stretch of steps of one environment. The products of all inputs are computed at once;
what is left for each step is the product with the state. Both are differentiated by hand: most of
the time of small layers goes into starting operations, of which automatic differentiation starts
more, a product for the weights' gradient in every step among them. Nothing here asks the host, so
that the same lines run captured on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from .lstm_rows import LSTMRows, has_loops


class Recurrent(nn.Module):
    """What both are: weights of inputs and of the state, each block of them one gate's.

    The state of a row [state_size] is one tensor: h, and where there is one, c after it.
    """

    num_gates: int
    state_parts: int

    def __init__(self, input_size: int, size: int, generator: torch.Generator) -> None:
        """Weights are drawn from `generator`: orthogonal ones for each gate, and no biases."""
        super().__init__()
        self.size, self.state_size = size, self.state_parts * size
        self.input_weight = nn.Parameter(torch.empty(self.num_gates * size, input_size))
        self.state_weight = nn.Parameter(torch.empty(self.num_gates * size, size))
        self.bias = nn.Parameter(torch.zeros(self.num_gates * size))
        for weight in (self.input_weight, self.state_weight):
            for gate in weight.data.chunk(self.num_gates):
                nn.init.orthogonal_(gate, 1.0, generator=generator)

    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs h [B, size] and the next state, from inputs [B, I] and the state [B, S]."""
        raise NotImplementedError

    def forward(self, inputs: Tensor, state: Tensor, keep: Tensor) -> tuple[Tensor, ...]:
        """The parts of the state after every step, each [L, B, size], h first; only h has a
        gradient.

        `inputs` are [L, B, I], `state` [B, S] is that before the first step. `keep` [L, B, 1] is 0
        where the state before a step is forgotten since an episode ended there, and 1 elsewhere.
        """
        raise NotImplementedError

    def _gates(self, inputs: Tensor) -> Tensor:
        """What inputs [..., I] add to the gates, [..., num_gates * size]."""
        return linear(inputs, self.input_weight, self.bias)


class LSTM(Recurrent):
    """Long short-term memory; its gates are the new content g, and i, f, o.

        c' = sigmoid(f) c + sigmoid(i) tanh(g),  h' = sigmoid(o) tanh(c')

    Source: Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735; Gers, Schmidhuber and
    Cummins 2000, doi:10.1162/089976600300015015, which has f.
    """

    num_gates, state_parts = 4, 2

    def __init__(self, input_size: int, size: int, generator: torch.Generator) -> None:
        super().__init__(input_size, size, generator)
        # It begins by remembering. Source: Jozefowicz et al. 2015, "An empirical exploration of
        # recurrent network architectures", section 5.
        self.bias.data.view(self.num_gates, size)[2] = 1.0

    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if not torch.is_grad_enabled() and has_loops(inputs, self.size):
            hs, cs = self(inputs[None], state, inputs.new_ones(1, len(inputs), 1))
            h, c = hs[0], cs[0]
        else:
            h, c = state.chunk(2, -1)
            gates = self._gates(inputs) + h @ self.state_weight.mT
            content, opened = gates[:, : self.size].tanh(), gates[:, self.size :].sigmoid()
            i, f, o = opened.chunk(3, -1)
            c = torch.addcmul(f * c, i, content)
            h = o * c.tanh()
        return h, torch.cat([h, c], -1)

    def forward(self, inputs: Tensor, state: Tensor, keep: Tensor) -> tuple[Tensor, ...]:
        rows: Callable[..., Any] = LSTMRows.apply
        return tuple(rows(self._gates(inputs), self.state_weight, state, keep))


class GRU(Recurrent):
    """Gated recurrent units; its gates are r, z and the new content n.

        n = tanh(n_inputs + sigmoid(r) (n_state + b)),  h' = (1 - sigmoid(z)) n + sigmoid(z) h

    Source: Cho et al. 2014, arXiv:1406.1078, with r after the product, as most libraries have it.
    """

    num_gates, state_parts = 3, 1

    def __init__(self, input_size: int, size: int, generator: torch.Generator) -> None:
        super().__init__(input_size, size, generator)
        self.state_bias = nn.Parameter(torch.zeros(size))

    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        of_state = state @ self.state_weight.mT
        h = gru_cell(self._gates(inputs), of_state, self.state_bias, state)[0]
        return h, h

    def forward(self, inputs: Tensor, state: Tensor, keep: Tensor) -> tuple[Tensor, ...]:
        rows: Callable[..., Any] = GRURows.apply
        return (rows(self._gates(inputs), self.state_weight, self.state_bias, state, keep),)


def gru_cell(
    of_inputs: Tensor, of_state: Tensor, bias: Tensor, h: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """h' [B, H] from what inputs and state give the gates, both [B, 3 H], and what its derivative
    needs: the sigmoids of r and z [B, 2 H], n, and what r was multiplied with.
    """
    size = h.shape[-1]
    opened = (of_inputs[..., : 2 * size] + of_state[..., : 2 * size]).sigmoid()
    r, z = opened.chunk(2, -1)
    recalled = of_state[..., 2 * size :] + bias
    content = torch.addcmul(of_inputs[..., 2 * size :], r, recalled).tanh()
    return torch.addcmul(content, z, h - content), opened, content, recalled


class GRURows(torch.autograd.Function):
    """`GRU.forward` behind the product of the inputs."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weight: Tensor, bias: Tensor, state: Tensor, keep: Tensor
    ) -> Tensor:
        h = state
        kept: list[tuple[Tensor, ...]] = []
        for of_inputs, kept_here in zip(gates, keep, strict=True):
            before = h * kept_here
            h, *inner = gru_cell(of_inputs, before @ weight.mT, bias, before)
            kept.append((before, h, *inner))
        hs_before, hs, *inner = map(torch.stack, zip(*kept, strict=True))
        ctx.save_for_backward(weight, keep, hs_before, *inner)
        return hs

    @staticmethod
    def backward(ctx: Any, by_hs: Tensor) -> tuple[Any, ...]:
        weight, keep, hs_before, opened, content, recalled = ctx.saved_tensors
        r, z = opened.chunk(2, -1)
        r_slope, z_slope = (opened * (1 - opened)).chunk(2, -1)
        # How far each gate moves with h': for all steps at once.
        n_by_h = (1 - z) * (1 - content.square())
        by_h = torch.stack(
            [n_by_h * recalled * r_slope, (hs_before - content) * z_slope, n_by_h * r], -2
        )
        slopes, of_state = torch.empty_like(by_hs), torch.empty_like(by_h)
        later = torch.zeros_like(by_hs[0])
        for t in reversed(range(len(by_hs))):
            here = torch.add(by_hs[t], later, out=slopes[t])
            torch.mul(here.unsqueeze(1), by_h[t], out=of_state[t])
            later = torch.addmm(here * z[t], of_state[t].flatten(1), weight) * keep[t]
        by_gates = torch.cat([of_state[:, :, :2].flatten(2), slopes * n_by_h], -1)
        by_weight = of_state.flatten(2).flatten(0, 1).mT @ hs_before.flatten(0, 1)
        return by_gates, by_weight, of_state[:, :, 2].sum((0, 1)), None, None


LAYERS: dict[str, type[Recurrent]] = {"lstm": LSTM, "gru": GRU}


def keep_of(resets: Tensor) -> Tensor:
    """`keep` [L, B, 1] of rows whose state is reset after the steps `resets` [L, B]: the first step
    has the state that the row began with.
    """
    keep = torch.ones(*resets.shape, 1, device=resets.device)
    keep[1:] = (~resets[:-1]).unsqueeze(-1).to(keep.dtype)
    return keep
