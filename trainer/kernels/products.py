"""Matrix products small enough to stay in cache, in blocks of four by four that fill registers.

The innermost loop always runs over memory that lies side by side, so the compiler makes vectors of
it. On the matrices of a 64-unit layer this is about as fast as a tuned library, without its
threads, whose number would change how sums are rounded.
"""

from __future__ import annotations

from ..compiling import compiled


@compiled
def add_product(x, w, out, rows, inner, columns):
    """out[b, j] += sum over i of x[b, i] * w[i, j], for the first `rows` rows."""
    whole_rows, whole_inner = rows - rows % 4, inner - inner % 4
    for b in range(0, whole_rows, 4):
        for i in range(0, whole_inner, 4):
            a0, a1, a2, a3 = x[b, i], x[b, i + 1], x[b, i + 2], x[b, i + 3]
            b0, b1, b2, b3 = x[b + 1, i], x[b + 1, i + 1], x[b + 1, i + 2], x[b + 1, i + 3]
            c0, c1, c2, c3 = x[b + 2, i], x[b + 2, i + 1], x[b + 2, i + 2], x[b + 2, i + 3]
            d0, d1, d2, d3 = x[b + 3, i], x[b + 3, i + 1], x[b + 3, i + 2], x[b + 3, i + 3]
            for j in range(columns):
                w0, w1, w2, w3 = w[i, j], w[i + 1, j], w[i + 2, j], w[i + 3, j]
                out[b, j] += a0 * w0 + a1 * w1 + a2 * w2 + a3 * w3
                out[b + 1, j] += b0 * w0 + b1 * w1 + b2 * w2 + b3 * w3
                out[b + 2, j] += c0 * w0 + c1 * w1 + c2 * w2 + c3 * w3
                out[b + 3, j] += d0 * w0 + d1 * w1 + d2 * w2 + d3 * w3
        for i in range(whole_inner, inner):
            a0, b0, c0, d0 = x[b, i], x[b + 1, i], x[b + 2, i], x[b + 3, i]
            for j in range(columns):
                out[b, j] += a0 * w[i, j]
                out[b + 1, j] += b0 * w[i, j]
                out[b + 2, j] += c0 * w[i, j]
                out[b + 3, j] += d0 * w[i, j]
    for b in range(whole_rows, rows):
        for i in range(inner):
            a0 = x[b, i]
            for j in range(columns):
                out[b, j] += a0 * w[i, j]


@compiled
def add_outer_products(d, x, out, rows, outputs, inputs):
    """out[j, i] += sum over b of d[b, j] * x[b, i], for the first `rows` rows."""
    whole_rows, whole_outputs = rows - rows % 4, outputs - outputs % 4
    for j in range(0, whole_outputs, 4):
        for b in range(0, whole_rows, 4):
            a0, a1, a2, a3 = d[b, j], d[b + 1, j], d[b + 2, j], d[b + 3, j]
            b0, b1, b2, b3 = d[b, j + 1], d[b + 1, j + 1], d[b + 2, j + 1], d[b + 3, j + 1]
            c0, c1, c2, c3 = d[b, j + 2], d[b + 1, j + 2], d[b + 2, j + 2], d[b + 3, j + 2]
            d0, d1, d2, d3 = d[b, j + 3], d[b + 1, j + 3], d[b + 2, j + 3], d[b + 3, j + 3]
            for i in range(inputs):
                x0, x1, x2, x3 = x[b, i], x[b + 1, i], x[b + 2, i], x[b + 3, i]
                out[j, i] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                out[j + 1, i] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                out[j + 2, i] += c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                out[j + 3, i] += d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
    for j in range(outputs):
        for b in range(whole_rows if j < whole_outputs else 0, rows):
            a0 = d[b, j]
            for i in range(inputs):
                out[j, i] += a0 * x[b, i]


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
