"""The cost of publishing, as the run measured it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..render.formatting import format_count, format_percent, format_short_time
from ..runs.reading.run_view import RunView

PUBLISH_S = "time/publish_s"


@dataclass(frozen=True)
class PublishCost:
    """`num_publishes` of the whole run; seconds each, and their share of the run's time, over its
    newest part; None where the run does not measure them.
    """

    num_publishes: int
    seconds: float | None = None
    fraction: float | None = None

    def in_words(self, width: int = 80) -> str:
        """`1234 publishes, 6.1µs each, 0.02% of the time`, in fewer words where it is narrow."""
        words = f"{format_count(self.num_publishes)} publishes"
        if self.seconds is None or self.fraction is None:
            return words
        share = "<0.01%" if self.fraction < 5e-5 else format_small_percent(self.fraction)
        words = f"{words}, {format_short_time(self.seconds)} each, {share}"
        return f"{words} of the time" if len(words) + 12 <= width else words


def format_small_percent(fraction: float) -> str:
    """Two digits behind the point where the first says little: 0.02%, 0.85%, 3.1%."""
    return f"{100 * fraction:.2f}%" if fraction < 0.01 else format_percent(fraction)


def publish_cost(view: RunView) -> PublishCost:
    """From the newest rows of the history, each of one publish."""
    history = view.history
    first = first_single(history.publish)
    seconds = history.series(PUBLISH_S).mean[first:]
    rows = np.flatnonzero(np.isfinite(seconds))
    if len(rows) < 2:
        return PublishCost(view.publish)
    # A row counts all publishes since the last row that had a count.
    start, end = first + int(rows[0]), first + int(rows[-1])
    spent_s = float(seconds[rows[1:]].sum())
    count = int(history.publish[end] - history.publish[start])
    passed_s = float(history.elapsed_s[end] - history.elapsed_s[start])
    return PublishCost(view.publish, spent_s / count, spent_s / max(passed_s, 1e-9))


def first_single(publish: np.ndarray) -> int:
    """The first of the newest rows that stand for one publish each."""
    jumps = np.flatnonzero(np.diff(publish) > 1)
    return int(jumps[-1]) + 1 if len(jumps) else 0
