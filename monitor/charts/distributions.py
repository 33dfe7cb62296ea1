"""Distributions, of which a page has five quantiles: one chart for all, with heat over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...shared import Metric
from ...shared.page.schema import QUANTILES
from ..render.canvas import DOTS_WIDE, HEAT_LEVELS, Canvas
from .curves import Columns, between_breaks, line_spans

MEDIAN = 50
_NAMES = {percent: name for name, percent in QUANTILES.items()}


@dataclass(frozen=True)
class Distribution(Metric):
    """The median of a distribution, which stands for all of its quantiles."""

    @property
    def title(self) -> str:
        return self.name.rpartition("/")[0]

    def quantile(self, percent: int) -> str:
        """The name of the metric with that quantile."""
        return f"{self.title}/{_NAMES[percent]}"


def with_distributions(metrics: Sequence[Metric]) -> list[Metric]:
    """`metrics` with one in place of the five of a distribution. Where a filter left only some of
    the five, they stay as they are.
    """
    found = Counter(
        title
        for title, _, quantile in (metric.name.rpartition("/") for metric in metrics)
        if quantile in QUANTILES
    )
    joined: list[Metric] = []
    for metric in metrics:
        title, _, quantile = metric.name.rpartition("/")
        if quantile not in QUANTILES or found[title] < len(QUANTILES):
            joined.append(metric)
        elif QUANTILES[quantile] == MEDIAN:
            joined.append(Distribution(**vars(metric)))
    return joined


def draw_heat(
    canvas: Canvas,
    quantiles: Mapping[int, Columns],
    y_range: tuple[float, float],
    style: str,
    cursor: int | None = None,
) -> None:
    """Shade each cell by the share of the values in it, strongest where a column has most of them,
    and draw the median on top. Quantiles, by their percent, go straight from point to point. The
    column of the `cursor` stays free.
    """
    median = quantiles[MEDIAN]
    known = {percent: columns for percent, columns in sorted(quantiles.items()) if len(columns)}
    if not len(median):
        return
    first, last = (int(place) // DOTS_WIDE for place in median.places[[0, -1]])
    places = np.clip(
        np.arange(first, last + 1) * DOTS_WIDE + 0.5, median.places[0], median.places[-1]
    )
    values = np.stack([np.interp(places, c.places, c.mean) for c in known.values()], axis=1)
    low, high = y_range  # in the middle of the last and of the first row of cells
    edges = high - (np.arange(canvas.rows + 1) - 0.5) / (canvas.rows - 1) * (high - low)
    # The percent of the values below each edge [C, rows + 1].
    below = np.stack([np.interp(edges, each, list(known)) for each in np.sort(values, axis=1)])
    share = -np.diff(below, axis=1).T
    relative = share / np.maximum(share.max(axis=0), 1e-9)
    levels = np.ceil(relative * HEAT_LEVELS - 1e-6).astype(np.intp)
    levels[:, between_breaks(median, places.astype(np.intp))] = 0
    if cursor is not None and first <= cursor <= last:
        levels[:, cursor - first] = 0
    canvas.draw_heat(first, levels, style)
    line = line_spans(median, y_range, canvas.dot_columns, canvas.dot_rows)
    canvas.draw_spans(line, style.replace("series", "block"))
