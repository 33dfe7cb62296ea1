"""Layers that remember: LSTM and GRU over rows of steps, with exact resets inside them.

A row is a stretch of steps of one environment. The products of all inputs are computed at once;
what is left for each step is the product with the state. Both are differentiated by hand: most of
the time of small layers goes into starting operations, of which automatic differentiation starts
more, a product for the weights' gradient in every step among them. Nothing here asks the host, so
that the same lines run captured on a GPU. On the processor the steps of an LSTM are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ..jit.lstm_rows import BACKWARD_ROWS, FORWARD_ROWS, PADDING

NUM_GATES = 4


class LSTMRows(torch.autograd.Function):
    """`LSTM.forward` of `recurrent.py`, behind the product of the inputs."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, weight: Tensor, state: Tensor, keep: Tensor
    ) -> tuple[Tensor, Tensor]:
        h, c = state.chunk(2, -1)
        steps, rows, size = len(gates), *h.shape
        hs_before, cs_before, hs, cs, squashed = gates.new_empty(5, steps, rows, size)
        activated = torch.empty_like(gates)
        ctx.is_compiled = has_loops(gates, size)
        if ctx.is_compiled:
            FORWARD_ROWS(
                *_numpy(gates.contiguous(), weight.mT.contiguous(), h, c, keep.squeeze(-1)),
                *_numpy(hs_before, cs_before, hs, cs, _by_gate(activated), squashed),
            )
        else:
            content, opened = activated[..., :size], activated[..., size:]
            for t in range(steps):
                h = torch.mul(h, keep[t], out=hs_before[t])
                c = torch.mul(c, keep[t], out=cs_before[t])
                of_state = torch.addmm(gates[t], h, weight.mT)
                torch.tanh(of_state[:, :size], out=content[t])
                i, f, o = torch.sigmoid(of_state[:, size:], out=opened[t]).chunk(3, -1)
                c = torch.mul(f, c, out=cs[t]).addcmul_(i, content[t])
                h = torch.mul(o, torch.tanh(c, out=squashed[t]), out=hs[t])
        ctx.save_for_backward(weight, keep, hs_before, cs_before, activated, squashed)
        ctx.mark_non_differentiable(cs)
        return hs, cs

    @staticmethod
    def backward(ctx: Any, by_hs: Tensor, _: Tensor) -> tuple[Any, ...]:
        weight, keep, hs_before, cs_before, activated, squashed = ctx.saved_tensors
        by_gates = torch.empty_like(activated)
        if ctx.is_compiled:
            BACKWARD_ROWS(
                *_numpy(by_hs.contiguous(), weight, keep.squeeze(-1), cs_before),
                *_numpy(_by_gate(activated), squashed, _by_gate(by_gates)),
            )
        else:
            LSTMRows._backward(by_hs, weight, keep, cs_before, activated, squashed, by_gates)
        by_weight = by_gates.flatten(0, 1).mT @ hs_before.flatten(0, 1)
        return by_gates, by_weight, None, None

    @staticmethod
    def _backward(
        by_hs: Tensor,
        weight: Tensor,
        keep: Tensor,
        cs_before: Tensor,
        activated: Tensor,
        squashed: Tensor,
        by_gates: Tensor,
    ) -> None:
        content, i, f, o = activated.chunk(4, -1)
        i_slope, f_slope, o_slope = (x * (1 - x) for x in (i, f, o))
        # How far each gate moves with c', and the last with h': for all steps at once.
        by_c = torch.stack([i * (1 - content.square()), content * i_slope, cs_before * f_slope], -2)
        o_by_h, c_by_h = squashed * o_slope, o * (1 - squashed.square())
        f_kept = f * keep
        by_gates = _by_gate(by_gates)
        h_later = c_later = torch.zeros_like(by_hs[0])
        for t in reversed(range(len(by_hs))):
            by_h = by_hs[t] + h_later
            by_c_here = torch.addcmul(c_later, by_h, c_by_h[t])
            torch.mul(by_c_here.unsqueeze(1), by_c[t], out=by_gates[t, :, :3])
            torch.mul(by_h, o_by_h[t], out=by_gates[t, :, 3])
            c_later = by_c_here * f_kept[t]
            h_later = (by_gates[t].flatten(1) @ weight) * keep[t]


def has_loops(x: Tensor, size: int) -> bool:
    """Whether compiled loops can take such, for layers of so many units."""
    is_plain = x.device.type == "cpu" and x.dtype == torch.float32
    return is_plain and size % PADDING == 0 and not torch.compiler.is_exporting()


def _by_gate(x: Tensor) -> Tensor:
    return x.view(*x.shape[:-1], NUM_GATES, -1)


def _numpy(*tensors: Tensor) -> list[Any]:
    return [x.detach().numpy() for x in tensors]


class Recurrent(nn.Module):
    """The base of LSTM and GRU: weights of inputs and of the state, a block for each gate.

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
        """The contribution of inputs [..., I] to the gates, [..., num_gates * size]."""
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
