"""Sine, cosine and angles without branches or calls, so that loops over them become vectors.

Within 3e-7 of the true values for angles within a turn, and 4e-7 more for each turn beyond.
Source: Cephes (Moshier 1989), sinf.c and sin.c: polynomials on
[-pi/4, pi/4].
"""

from __future__ import annotations

import math

from numba import njit
from numpy import float32, int32

TURN_RAD = float32(2 * math.pi)
_QUARTER_RAD = float32(math.pi / 2)
_QUARTERS_PER_RAD = float32(2 / math.pi)
_TURNS_PER_RAD = float32(0.5 / math.pi)
_ONE, _HALF = float32(1.0), float32(0.5)

_SINE_3, _SINE_5, _SINE_7 = map(float32, (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4))
_COSINE_4, _COSINE_6, _COSINE_8 = map(
    float32, (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
)


@njit(inline="always")
def sine_and_cosine(angle_rad):
    """Both, float32, of a float32 angle."""
    quarters = _nearest(angle_rad * _QUARTERS_PER_RAD)
    rest = angle_rad - float32(quarters) * _QUARTER_RAD
    z = rest * rest
    sine = rest + rest * z * (_SINE_3 + z * (_SINE_5 + z * _SINE_7))
    cosine = _ONE - _HALF * z + z * z * (_COSINE_4 + z * (_COSINE_6 + z * _COSINE_8))
    return _turned(quarters, sine, cosine)


@njit(inline="always")
def precise_sine_and_cosine(angle_rad):
    """Both, float64 and within 1e-13, of a float64 angle within a few turns."""
    quarters = _nearest(float32(angle_rad) * _QUARTERS_PER_RAD)
    rest = angle_rad - quarters * (math.pi / 2)
    z = rest * rest
    sine = -2.50507477628578072866e-8 + z * 1.58962301576546568060e-10
    sine = -1.98412698295895385996e-4 + z * (2.75573136213857245213e-6 + z * sine)
    sine = -1.66666666666666307295e-1 + z * (8.33333333332211858878e-3 + z * sine)
    cosine = 2.08757008419747316778e-9 - z * 1.13585365213876817300e-11
    cosine = 2.48015872888517045348e-5 + z * (-2.75573141792967388112e-7 + z * cosine)
    cosine = 4.16666666666665929218e-2 + z * (-1.38888888888730564116e-3 + z * cosine)
    return _turned(quarters, rest + rest * z * sine, 1.0 - 0.5 * z + z * z * cosine)


@njit(inline="always")
def _turned(quarters, sine, cosine):
    """Sine and cosine after so many quarter turns more."""
    swapped = (quarters & 1) != 0
    first = cosine if swapped else sine
    second = sine if swapped else cosine
    first = -first if (quarters & 2) != 0 else first
    second = -second if ((quarters + 1) & 2) != 0 else second
    return first, second


@njit(inline="always")
def wrapped(angle_rad):
    """The same angle within [-pi, pi], but for rounding."""
    return angle_rad - float32(_nearest(angle_rad * _TURNS_PER_RAD)) * TURN_RAD


@njit(inline="always")
def _nearest(x):
    """The nearest integer, int32; ties away from 0."""
    return int32(x + (_HALF if x > 0 else -_HALF))
