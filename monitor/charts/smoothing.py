"""Curves made smooth, with what they are made from kept around them as a band."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .curves import Curve

# How far back the mean reaches, as a part of the run; 0 leaves the curve as it is.
STRENGTHS = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def smoothed(curve: Curve, strength: float, x_span: float) -> Curve:
    """`curve` with an exponential moving mean over `x` in place of its means.

        y(x) = sum of v_i w_i / sum of w_i  over x_i <= x,  w_i = d_i exp((x_i - x) / reach)

    `reach` is `strength` of `x_span`, and d_i the part of the axis that point i stands for, so that
    rows of many publishes weigh as much as those they replaced.
    """
    if strength <= 0 or x_span <= 0 or len(curve) < 3:
        return curve
    # Beyond e^-600 a weight is no number any more; nothing that far back is seen anyway.
    exponents = np.maximum((curve.x - curve.x[-1]) / (strength * x_span), -600.0)
    stands_for = np.diff(curve.x, prepend=2 * curve.x[0] - curve.x[1])
    smallest = float(curve.x[-1] - curve.x[0]) * 1e-9 or 1.0
    weights = np.exp(exponents) * np.maximum(stands_for, smallest)
    scale = float(np.abs(curve.mean).max()) or 1.0
    sums = np.cumsum(curve.mean / scale * weights)
    mean = sums / np.cumsum(weights) * scale
    return replace(curve, mean=np.clip(mean, curve.mean.min(), curve.mean.max()))
