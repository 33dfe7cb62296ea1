"""Sums of the table rows that tokens select, and the table's gradient, on the processor.

Tokens are bytes, `tokens` [B, 3 K]: K times (cell, feature, value), with padding of cell 255 at the
end. `row_of` [256, 256] int32 and `scale_of` [256, 256] float32 are indexed by feature and value,
`cell_of` [256] int32 by cell. A token adds

    scale_of[feature, value] * table[row_of[feature, value] * num_cells + cell_of[cell]]

and nothing if `row_of` or `cell_of` is negative. PyTorch's own sums of selected rows take about ten
times as long to differentiate.
"""

from __future__ import annotations

import numpy as np

from .compiling import specialised

PADDING = np.uint8(255)


def sum_rows(tokens, row_of, scale_of, cell_of, num_cells, table, sums, chosen, scales, counts):
    """Adds the rows that the tokens select of `table` [R, F] float32 to `sums` [B, F]. For
    `add_gradient`, writes these rows to `chosen` [B, K] int32, their `scales` [B, K] float32, and
    their number to `counts` [B] int32.
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
    """Adds the derivative `by_sums` [B, F] to the chosen rows of `by_table` [R, F]."""
    num_features = by_table.shape[1]
    for b in range(len(counts)):
        slope = by_sums[b]
        for k in range(counts[b]):
            scale, of_table = scales[b, k], by_table[chosen[b, k]]
            for i in range(num_features):
                of_table[i] += scale * slope[i]


SUM_ROWS = specialised(sum_rows, "any")
ADD_GRADIENT = specialised(add_gradient, "any")
