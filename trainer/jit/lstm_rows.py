"""The steps of an LSTM over rows, and their derivative, on the processor.

Rows are independent, so blocks of them whose state stays in cache are stepped one after the other.
All arrays are float32 and contiguous: gates are [L, R, 4, H], in the order g (the content), i, f,
o; states before and after the steps are [L, R, H]. H is a multiple of PADDING.
"""

from __future__ import annotations

import numpy as np
from numpy import float32

from .activations import tanh
from .compiling import compiled, specialised
from .products import PADDING as PADDING
from .products import product

BLOCK = 64  # rows

_HALF = float32(0.5)
_ONE = float32(1.0)
_ZERO = float32(0.0)


def forward_rows(gates, weight, h0, c0, keep, hs_before, cs_before, hs, cs, activated, squashed):
    """The steps of `networks.recurrent.LSTM`, from the `gates` of the inputs, `weight` [H, 4 H] of
    the state, `h0` and `c0` [R, H], and `keep` [L, R].

    Writes h and c before every step, multiplied by `keep`, and after it, all [L, R, H], the
    activated gates, and tanh(c').
    """
    steps, rows, size = hs.shape
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        for t in range(steps):
            for row in range(first, first + count):
                kept = keep[t, row]
                h, c = (h0[row], c0[row]) if t == 0 else (hs[t - 1, row], cs[t - 1, row])
                h_before, c_before = hs_before[t, row], cs_before[t, row]
                for j in range(size):
                    h_before[j] = h[j] * kept
                    c_before[j] = c[j] * kept
            at = (t * rows + first) * size
            product(
                (gates, 4 * at, 4 * size),
                (hs_before, at, size, 1),
                (weight, 0, 4 * size),
                (activated, 4 * at, 4 * size),
                count,
                size,
                4 * size,
            )
            for row in range(first, first + count):
                activate_cell(
                    activated[t, row], cs_before[t, row], hs[t, row], cs[t, row], squashed[t, row]
                )


@compiled
def activate_cell(gates, c_before, h, c, squashed):
    """Activate the `gates` [4, H] of one row in place, and compute c, tanh(c) and h from `c_before`
    [H]. Compilers vectorise these short loops, but no loop over many arrays.
    """
    size = len(h)
    for j in range(size):
        gates[0, j] = tanh(gates[0, j])
    for gate in range(1, 4):
        for j in range(size):
            gates[gate, j] = _HALF + _HALF * tanh(_HALF * gates[gate, j])  # the logistic function
    for j in range(size):
        c[j] = gates[2, j] * c_before[j] + gates[1, j] * gates[0, j]
    for j in range(size):
        squashed[j] = tanh(c[j])
    for j in range(size):
        h[j] = gates[3, j] * squashed[j]


def backward_rows(by_hs, weight, keep, cs_before, activated, squashed, by_gates):
    """Writes the derivative by all gates, from that by all h, `by_hs` [L, R, H], and the results of
    `forward_rows`; `weight` is [4 H, H].
    """
    steps, rows, size = by_hs.shape
    nothing = np.zeros(size, np.float32)
    by_h, by_c = np.zeros((2, BLOCK, size), np.float32)
    for first in range(0, rows, BLOCK):
        count = min(BLOCK, rows - first)
        by_h[:] = _ZERO
        by_c[:] = _ZERO
        for t in range(steps - 1, -1, -1):
            for r in range(count):
                row = first + r
                differentiate_cell(
                    by_hs[t, row],
                    activated[t, row],
                    cs_before[t, row],
                    squashed[t, row],
                    by_h[r],
                    by_c[r],
                    by_gates[t, row],
                )
            at = 4 * (t * rows + first) * size
            product(
                (nothing, 0, 0),
                (by_gates, at, 4 * size, 1),
                (weight, 0, size),
                (by_h, 0, size),
                count,
                4 * size,
                size,
            )
            for r in range(count):
                kept, h_row, c_row = keep[t, first + r], by_h[r], by_c[r]
                for j in range(size):
                    h_row[j] *= kept
                    c_row[j] *= kept


@compiled
def differentiate_cell(by_out, gates, c_before, squashed, by_h, by_c, by_gates):
    """The derivative by the gates of one row, from `by_h` and `by_c` [H] of the step after it;
    leaves `by_c` for the step before.
    """
    size = len(by_h)
    for j in range(size):
        by_h[j] += by_out[j]
    for j in range(size):
        by_c[j] += by_h[j] * gates[3, j] * (_ONE - squashed[j] * squashed[j])
    for j in range(size):
        by_gates[3, j] = by_h[j] * squashed[j] * gates[3, j] * (_ONE - gates[3, j])
    for j in range(size):
        by_gates[0, j] = by_c[j] * gates[1, j] * (_ONE - gates[0, j] * gates[0, j])
    for j in range(size):
        by_gates[1, j] = by_c[j] * gates[0, j] * gates[1, j] * (_ONE - gates[1, j])
    for j in range(size):
        by_gates[2, j] = by_c[j] * c_before[j] * gates[2, j] * (_ONE - gates[2, j])
    for j in range(size):
        by_c[j] *= gates[2, j]


FORWARD_ROWS = specialised(forward_rows, "any")
BACKWARD_ROWS = specialised(backward_rows, "any")
