"""Matrix products small enough to stay in cache, tile by tile.

No library's: their threads would change how sums are rounded, and on the matrices of a 64-unit
layer a call costs as much as the work.
"""

from __future__ import annotations

from ..compiling import compiled
from .micro_kernel import LANES, ROWS, VECTORS, WIDE, make_tile

PADDING = 16  # columns of matrices come in multiples of this, which LANES divides

_tile = make_tile(ROWS, VECTORS)
_narrow_tile = make_tile(ROWS, 1)
_row = make_tile(1, VECTORS)
_narrow_row = make_tile(1, 1)


def padded(size):
    """The next multiple of PADDING."""
    return (size + PADDING - 1) // PADDING * PADDING


compiled_padded = compiled(padded)


@compiled
def product(start, a, b, c, rows, inner, columns):
    """c[r, j] = start[r, j] + sum over i of a[r, i] * b[i, j]; `columns` is a multiple of PADDING.

    `start`, `b` and `c` are (array, place of the first element, elements to the next row), and `a`
    has the elements to the next column as well. `start` may be `c`, to add to it.
    """
    start, start_at, start_row = start
    a, a_at, a_row, a_step = a
    b, b_at, b_row = b
    c, c_at, c_row = c
    whole = rows - rows % ROWS
    wide = columns - columns % WIDE
    for j in range(0, wide, WIDE):
        for r in range(0, whole, ROWS):
            _tile(
                start, start_at + r * start_row + j, start_row, a, a_at + r * a_row, a_row, a_step,
                b, b_at + j, b_row, c, c_at + r * c_row + j, c_row, inner,
            )  # fmt: skip
        for r in range(whole, rows):
            _row(
                start, start_at + r * start_row + j, start_row, a, a_at + r * a_row, a_row, a_step,
                b, b_at + j, b_row, c, c_at + r * c_row + j, c_row, inner,
            )  # fmt: skip
    for j in range(wide, columns, LANES):
        for r in range(0, whole, ROWS):
            _narrow_tile(
                start, start_at + r * start_row + j, start_row, a, a_at + r * a_row, a_row, a_step,
                b, b_at + j, b_row, c, c_at + r * c_row + j, c_row, inner,
            )  # fmt: skip
        for r in range(whole, rows):
            _narrow_row(
                start, start_at + r * start_row + j, start_row, a, a_at + r * a_row, a_row, a_step,
                b, b_at + j, b_row, c, c_at + r * c_row + j, c_row, inner,
            )  # fmt: skip


@compiled
def few_outputs(x, w, bias, out, rows, inner, outputs):
    """out[b, j] = bias[j] + sum over i of x[b, i] * w[j, i]: for so few j that rows of `w` are the
    long side.
    """
    for b in range(rows):
        for j in range(outputs):
            total = bias[j]
            for i in range(inner):
                total += x[b, i] * w[j, i]
            out[b, j] = total
