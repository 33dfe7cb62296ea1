"""Curves on logarithmic axes: powers of ten in place of all numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .curves import Curve


def log_y(curve: Curve) -> Curve:
    """The positive points; a band that reaches below ends at its line."""
    keep = curve.mean > 0
    low, high = (
        np.where(side[keep] > 0, side[keep], curve.mean[keep]) for side in (curve.low, curve.high)
    )
    low, mean, high = (np.log10(side) for side in (low, curve.mean[keep], high))
    return Curve(curve.x[keep], low, mean, high, curve.breaks[keep])


def log_x(curve: Curve) -> Curve:
    """The points at positive places."""
    keep = curve.x > 0
    low, mean, high = (side[keep] for side in (curve.low, curve.mean, curve.high))
    return Curve(np.log10(curve.x[keep]), low, mean, high, curve.breaks[keep])


def log_range(curves: Sequence[Curve], x_range: tuple[float, float]) -> tuple[float, float]:
    """An axis whose powers begin where the first of `curves` does, which have powers themselves."""
    firsts = [10.0 ** float(curve.x[0]) for curve in curves if len(curve)]
    low, high = x_range
    low = max(low, min(firsts)) if firsts else low
    return (math.log10(low), math.log10(high)) if 0 < low < high else (0.0, 0.0)


def log_or_none(x: float | None) -> float | None:
    """The power of ten; None where there is none."""
    return math.log10(x) if x is not None and x > 0 else None
