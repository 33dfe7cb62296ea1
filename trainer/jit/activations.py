"""In-place activation functions of hidden layers, and their derivatives from their outputs."""

from __future__ import annotations

import math

from numba import njit
from numpy import float32

from .compiling import compiled

ACTIVATIONS = ("tanh", "relu", "elu")
TANH, RELU, ELU = range(len(ACTIVATIONS))

# tanh(x) = x P(x^2) / Q(x^2), fitted to the least relative error on [-9, 9]: 4e-7 in float32.
# Unlike the library's function it has no branches, so the compiler makes vectors of it.
_LARGEST = float32(9.0)
_P0, _P1, _P2 = float32(0.9999999403953552), float32(0.13307560979), float32(0.003408234566)
_P3, _P4 = float32(1.917437111842446e-05), float32(1.1387538911833417e-08)
_Q1, _Q2 = float32(0.4664087295532227), float32(0.02554485015571117)
_Q3, _Q4 = float32(0.0003142800705973059), float32(6.966154160181759e-07)
_ONE = float32(1.0)
_ZERO = float32(0.0)


@njit(inline="always")
def tanh(x):
    """Hyperbolic tangent of a float32, by a rational approximation; returns float32."""
    x = min(max(x, -_LARGEST), _LARGEST)
    y = x * x
    p = (((_P4 * y + _P3) * y + _P2) * y + _P1) * y + _P0
    q = (((_Q4 * y + _Q3) * y + _Q2) * y + _Q1) * y + _ONE
    return min(max(x * p / q, -_ONE), _ONE)


@compiled
def activate(z, rows, columns, activation):
    """Apply the activation to z[:rows, :columns] in place."""
    for b in range(rows):
        if activation == TANH:
            for j in range(columns):
                z[b, j] = tanh(z[b, j])
        elif activation == RELU:
            for j in range(columns):
                z[b, j] = max(z[b, j], _ZERO)
        else:
            for j in range(columns):
                z[b, j] = z[b, j] if z[b, j] > _ZERO else math.expm1(z[b, j])


@compiled
def backpropagate_activation(d, a, rows, columns, activation):
    """Multiply d[:rows, :columns] in place by the derivative at the activation's outputs a."""
    for b in range(rows):
        if activation == TANH:
            for j in range(columns):
                d[b, j] *= _ONE - a[b, j] * a[b, j]
        elif activation == RELU:
            for j in range(columns):
                d[b, j] = d[b, j] if a[b, j] > _ZERO else _ZERO
        else:
            for j in range(columns):
                d[b, j] *= _ONE if a[b, j] > _ZERO else a[b, j] + _ONE
