"""Statistics of the runs of a group: the middle of their values, and an interval around it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Literal, NamedTuple

import numpy as np

from ....shared.rows.row_batch import Floats
from ...render.formatting import format_value

# The middle is the mean, with "iqm" the interquartile mean.
Spread = Literal["quartiles", "range", "error", "iqm"]
SPREADS: tuple[Spread, ...] = ("quartiles", "range", "error", "iqm")
SPREAD_WORDS = {
    "quartiles": "25% to 75%",
    "range": "min to max",
    "error": "± std error",
    "iqm": "IQM, 95% CI",
}

_TAIL = 0.025  # outside a 95 % interval, at each end
_MOST_EXACT = 6  # runs, of which all resamples are few enough
_RESAMPLES, _MAX_DRAWN = 1000, 400_000  # fewer of very many runs


class Middle(NamedTuple):
    """The middle of the values of `num_runs` runs, and where its interval begins and ends: NaN for
    one run, where that takes more.
    """

    value: float
    low: float
    high: float
    num_runs: int


def middle_of(values: Sequence[float], spread: Spread) -> Middle | None:
    """The middle of finite `values`; None without values."""
    return _middle(tuple(values), spread) if values else None


@lru_cache(4096)  # the same runs are drawn again and again
def _middle(values: tuple[float, ...], spread: Spread) -> Middle:
    low, middle, high = intervals(np.array(values)[:, None], spread)[:, 0].tolist()
    return Middle(middle, low, high, len(values))


def interval_text(middle: Middle, spread: Spread) -> str:
    """`75.50 to 151.0`, or `± 12.30`; empty where it is not known."""
    if not middle.low <= middle.high:
        return ""
    if spread == "error":
        return f"± {format_value(middle.high - middle.value)}"
    return f"{format_value(middle.low)} to {format_value(middle.high)}"


def intervals(values: Floats, spread: Spread) -> Floats:
    """Low end, middle and high end [3, R] of finite `values` [S, R] of S runs at R places.

    "error" is the mean ± its standard error, "iqm" the interquartile mean with its 95 % bootstrap
    interval; the ends of both are NaN for one run.
    Source: Agarwal et al. 2021, arXiv:2108.13264.
    """
    num_runs = len(values)
    rising = np.sort(values, axis=0)
    mean = (rising / num_runs).sum(axis=0)  # their sum may be too large
    unknown = np.full_like(mean, np.nan)
    if spread == "iqm":
        kept = rising[_kept(num_runs)]
        middle = (kept / len(kept)).sum(axis=0)
        if num_runs == 1:
            return np.stack([unknown, middle, unknown])
        low, high = _bootstrap_interval(rising)
        return np.stack([low, middle, high])
    if spread == "error":
        with np.errstate(over="ignore"):  # of values near the largest number
            squares = ((rising - mean) ** 2).sum(axis=0)
        error = np.sqrt(squares / (num_runs - 1) / num_runs) if num_runs > 1 else unknown
        return np.stack([mean - error, mean, mean + error])
    low_share, high_share = (0.25, 0.75) if spread == "quartiles" else (0.0, 1.0)
    return np.stack([_quantile(rising, low_share), mean, _quantile(rising, high_share)])


def _kept(num_runs: int) -> slice:
    """The runs that the interquartile mean is of, among `num_runs` in rising order: all but a
    quarter at each end, rounded down.
    """
    cut = num_runs // 4
    return slice(cut, num_runs - cut)


def _bootstrap_interval(rising: Floats) -> tuple[Floats, Floats]:
    """The ends [R] of the 95 % interval of the interquartile means of sorted values [S, R]."""
    weights, shares = _resamples(len(rising))
    means = rising.T @ weights.T
    if len(rising) > _MOST_EXACT:
        low, high = np.quantile(means, (_TAIL, 1 - _TAIL), axis=1)
        return low, high
    order = np.argsort(means, axis=1)
    so_far = np.cumsum(shares[order], axis=1)
    places = np.arange(len(means))
    low, high = (
        means[places, order[places, np.argmax(so_far > share - 1e-9, axis=1)]]
        for share in (_TAIL, 1 - _TAIL)
    )
    return low, high


@lru_cache(8)
def _resamples(num_runs: int) -> tuple[Floats, Floats]:
    """Resamples of sorted values: the weight of each value in the interquartile mean of a resample
    [B, S], and the share of such resamples [B]. All there are of few runs, else drawn at random.
    They are the same at all places, so that a band costs one product.
    """
    if num_runs <= _MOST_EXACT:
        drawn = np.array(list(combinations_with_replacement(range(num_runs), num_runs)))
        orders = [math.prod(map(math.factorial, np.bincount(draw).tolist())) for draw in drawn]
        shares = 1 / np.array(orders)
    else:
        size = min(_RESAMPLES, max(200, _MAX_DRAWN // num_runs)), num_runs
        drawn = np.sort(np.random.default_rng(1).integers(num_runs, size=size), axis=1)
        shares = np.ones(len(drawn))
    kept = drawn[:, _kept(num_runs)]
    weights = np.zeros(drawn.shape)
    np.add.at(weights, (np.arange(len(kept))[:, None], kept), 1 / kept.shape[1])
    return weights, shares / shares.sum()


def _quantile(rising: Floats, share: float) -> Floats:
    """A quantile [R] of sorted values [S, R], linear between two of them, without overflow."""
    place = share * (len(rising) - 1)
    below = int(place)
    above, part = min(below + 1, len(rising) - 1), place - below
    quantile: Floats = (1 - part) * rising[below] + part * rising[above]
    return quantile
