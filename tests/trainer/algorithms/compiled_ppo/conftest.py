"""Where nothing is compiled (NUMBA_DISABLE_JIT), as for coverage, NumPy does what is written in
LLVM's instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numba
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from operant.trainer.envs import tiles
from operant.trainer.jit import products
from operant.trainer.jit.products import LANES, ROWS, VECTORS


def plain_tile(rows: int, vectors: int) -> Callable[..., None]:
    """A tile of `make_tile` by NumPy."""
    width = vectors * LANES

    def tile(start, a, b, c, inner, r, j):
        def part(array, at, row, height, columns, step=1):
            flat = array.reshape(-1)[at:]
            size = array.itemsize
            return as_strided(flat, (height, columns), (row * size, step * size))

        def moved(array, at, row):
            return array, at + r * row + j, row

        sums = part(*moved(*start), rows, width).copy()
        if inner:
            array, at, row, step = a
            left = part(array, at + r * row, row, rows, inner, step)
            array, at, row = b
            sums += left @ part(array, at + j, row, inner, width)
        part(*moved(*c), rows, width)[:] = sums

    return tile


@pytest.fixture(autouse=True, scope="session")
def _tiles_of_python():
    with pytest.MonkeyPatch.context() as patch:
        if numba.config.DISABLE_JIT:
            sizes = {"_tile": (ROWS, VECTORS), "_row": (1, VECTORS),
                     "_narrow_tile": (ROWS, 1), "_narrow_row": (1, 1)}  # fmt: skip
            patch.setattr(tiles, "stack_array", lambda *array: partial(np.empty, *array))
            for name, size in sizes.items():
                patch.setattr(products, name, plain_tile(*size))
        yield
