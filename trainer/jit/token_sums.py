"""Sums of the rows of a table that tokens stand for, and the table's gradient, on the processor.

Tokens come as bytes, `tokens` [B, 3 K]: (cell, feature, value) K times, those that say nothing last
and with cell 255. `row_of` [256, 256] int32 and `scale_of` [256, 256] float32 are of features and
values, `cell_of` [256] int32 of cells: token i of a row stands for

    scale_of[feature, value] * table[row_of[feature, value] * num_cells + cell_of[cell]]

and for nothing where any of the two is negative. PyTorch's own sums of chosen rows take some ten
times as long to differentiate.
"""

from __future__ import annotations

import numpy as np

from .compiling import specialised

PADDING = np.uint8(255)


def sum_rows(tokens, row_of, scale_of, cell_of, num_cells, table, sums, chosen, scales, counts):
    """Writes `sums` [B, F] += what the tokens stand for, from `table` [R, F] float32; and for
    `add_gradient` which rows these were, `chosen` [B, K] int32 with `scales` [B, K] float32, the
    first `counts` [B] int32 of each.
    """
    num_features = table.shape[1]
    for b in range(len(tokens)):
        count = 0
        into = sums[b]
        for k in range(chosen.shape[1]):
            cell, feature, value = tokens[b, 3 * k], tokens[b, 3 * k + 1], tokens[b, 3 * k + 2]
            if cell == PADDING:
                break
            kind, place = row_of[feature, value], cell_of[cell]
            if kind < 0 or place < 0:
                continue
            row, scale = kind * num_cells + place, scale_of[feature, value]
            chosen[b, count], scales[b, count] = row, scale
            count += 1
            of_table = table[row]
            for i in range(num_features):
                into[i] += scale * of_table[i]
        counts[b] = count


def add_gradient(chosen, scales, counts, by_sums, by_table):
    """Adds to `by_table` [R, F] what `by_sums` [B, F] gives each row that was chosen."""
    num_features = by_table.shape[1]
    for b in range(len(counts)):
        slope = by_sums[b]
        for k in range(counts[b]):
            scale, of_table = scales[b, k], by_table[chosen[b, k]]
            for i in range(num_features):
                of_table[i] += scale * slope[i]


SUM_ROWS = specialised(sum_rows, "any")
ADD_GRADIENT = specialised(add_gradient, "any")
