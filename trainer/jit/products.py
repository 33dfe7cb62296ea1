"""Matrix products small enough to stay in cache, tile by tile.

A library's threads would change how sums are rounded, and on the matrices of a 64-unit layer a call
of a library costs as much as the work.

The innermost part, `make_tile`, keeps a tile of the result in registers. It is written as vector
instructions of LLVM, for whatever processor there is: compilers make vectors of innermost loops
only, and here the innermost loop is the sum. Source: Van Zee and van de Geijn 2015,
"BLIS: a framework for rapidly instantiating BLAS functionality".
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .compiling import compiled

# 16 accumulators of 16 numbers where there are 32 registers of that size, else 8 of 8.
HAS_AVX512 = binding.get_host_cpu_features().get("avx512f", False)
LANES = 16 if HAS_AVX512 else 8
VECTORS = 4 if HAS_AVX512 else 2
ROWS = 4
WIDE = LANES * VECTORS

_NUMBER, _INDEX = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_NUMBER, LANES)
_ALIGN = 4  # bytes; arrays are not aligned to vectors
_FUSED = ("contract",)


def make_tile(rows: int, vectors: int) -> Any:
    """Make an intrinsic that computes one tile of `product`: `rows` rows from row r on, and
    `vectors` x LANES columns from column j on.

    `start`, `a`, `b` and `c` are the matrices of `product`. No bounds are checked.
    """

    @intrinsic
    def tile(context, start, a, b, c, inner, r, j):
        matrices = [
            types.Tuple([matrix[0], *[types.int64] * (len(matrix) - 1)])
            for matrix in (start, a, b, c)
        ]
        integers = [types.int64] * 3
        return types.void(*matrices, *integers), _generate(rows, vectors)

    return tile


def _generate(rows: int, vectors: int) -> Any:
    """The function that writes the instructions of a tile."""
    places = [(r, v) for r in range(rows) for v in range(vectors)]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def unpacked(kind: Any, matrix: Any) -> Any:
            array, *numbers = cgutils.unpack_tuple(builder, matrix)
            return context.make_array(kind[0])(context, builder, array).data, *numbers

        def moved(at: Any, row: Any, r: Any, j: Any) -> Any:
            return builder.add(builder.add(at, builder.mul(row, r)), j)

        *matrices, inner, first_r, first_j = arguments
        unpacked_matrices = map(unpacked, signature.args, matrices)
        start, start_at, start_row = next(unpacked_matrices)
        a, a_at, a_row, a_step = next(unpacked_matrices)
        b, b_at, b_row = next(unpacked_matrices)
        c, c_at, c_row = next(unpacked_matrices)
        start_at = moved(start_at, start_row, first_r, first_j)
        c_at = moved(c_at, c_row, first_r, first_j)
        a_at = moved(a_at, a_row, first_r, _INDEX(0))
        b_at = builder.add(b_at, first_j)

        def element(pointer: Any, at: Any, row: Any, r: Any, column: int = 0) -> Any:
            return builder.gep(pointer, [moved(at, row, r, _INDEX(column))])

        def vector_at(*place: Any) -> Any:
            return builder.bitcast(element(*place), _VECTOR.as_pointer())

        sums = {place: cgutils.alloca_once(builder, _VECTOR) for place in places}
        for r, v in places:
            first = vector_at(start, start_at, start_row, _INDEX(r), v * LANES)
            builder.store(builder.load(first, align=_ALIGN), sums[r, v])
        with cgutils.for_range(builder, inner) as loop:
            columns = [
                builder.load(vector_at(b, b_at, b_row, loop.index, v * LANES), align=_ALIGN)
                for v in range(vectors)
            ]
            a_at_i = builder.add(a_at, builder.mul(a_step, loop.index))
            for r in range(rows):
                factor = builder.load(element(a, a_at_i, a_row, _INDEX(r)))
                factors = _repeated(builder, factor)
                for v in range(vectors):
                    term = builder.fmul(factors, columns[v], flags=_FUSED)
                    total = builder.fadd(builder.load(sums[r, v]), term, flags=_FUSED)
                    builder.store(total, sums[r, v])
        for r, v in places:
            place = vector_at(c, c_at, c_row, _INDEX(r), v * LANES)
            builder.store(builder.load(sums[r, v]), place, align=_ALIGN)
        return context.get_dummy_value()

    return generate


def _repeated(builder: Any, number: Any) -> Any:
    """A vector whose lanes are all `number`."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, zeros)


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

    `start`, `b` and `c` are (float32 array, place of the first element, elements to the next row),
    and `a` has the elements to the next column as well. `start` may be `c`, to add to it.
    """
    whole = rows - rows % ROWS
    wide = columns - columns % WIDE
    for j in range(0, wide, WIDE):
        for r in range(0, whole, ROWS):
            _tile(start, a, b, c, inner, r, j)
        for r in range(whole, rows):
            _row(start, a, b, c, inner, r, j)
    for j in range(wide, columns, LANES):
        for r in range(0, whole, ROWS):
            _narrow_tile(start, a, b, c, inner, r, j)
        for r in range(whole, rows):
            _narrow_row(start, a, b, c, inner, r, j)


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
