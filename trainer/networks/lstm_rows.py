"""The steps of an LSTM over rows, differentiated by hand: compiled, or in PyTorch's operations."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..compiled.lstm_rows import BACKWARD_ROWS, FORWARD_ROWS, PADDING

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
        by_hs: Tensor, weight: Tensor, keep: Tensor, cs_before: Tensor, activated: Tensor,
        squashed: Tensor, by_gates: Tensor,
    ) -> None:  # fmt: skip
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
