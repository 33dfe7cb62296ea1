"""Distributions as a few metrics: the 5th, 25th, 50th, 75th and 95th percentile."""

from __future__ import annotations

from typing import Any

from ..page.schema import QUANTILES


def names_and_values(values: Any) -> dict[str, float]:
    """`{"p05": ..., ..., "p95": ...}` of the finite numbers among `values`, of any shape; empty
    where there are none.
    """
    import numpy as np

    numbers = finite(values)
    with np.errstate(over="ignore"):  # between the largest numbers of both signs
        return _named(np.percentile(numbers, list(QUANTILES.values()))) if numbers.size else {}


def finite(values: Any) -> Any:
    """The finite numbers among `values`, of any shape, as [V]; masked values are left out."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        values = values.compressed()
    with np.errstate(over="ignore"):  # of longer floats: infinity is left out as any other
        numbers = np.asarray(values, dtype=np.float64).ravel()
    return numbers[np.isfinite(numbers)]


def of_buckets(counts: Any, edges: Any) -> dict[str, float]:
    """The same of `counts` [B] of values between neighbouring `edges` [B + 1], taken as spread
    evenly within a bucket.

    Raises ValueError when the lengths do not fit or counts are negative.
    """
    import numpy as np

    counts = np.asarray(counts, dtype=np.float64).ravel()
    edges = np.asarray(edges, dtype=np.float64).ravel()
    if edges.size != counts.size + 1 or (counts < 0).any():
        raise ValueError(f"{counts.size} counts do not fit {edges.size} edges")
    if not counts.sum():
        return {}
    below = np.concatenate([[0.0], np.cumsum(counts)])
    return _named(np.interp(np.array([*QUANTILES.values()]) / 100 * below[-1], below, edges))


def _named(quantiles: Any) -> dict[str, float]:
    return dict(zip(QUANTILES, map(float, quantiles), strict=True))
