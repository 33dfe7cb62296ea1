"""How people want their charts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .arrangement import Arrangement
from .smoothing import STRENGTHS
from .x_axis import X_COUNTS, XCount, XWindow


@dataclass(frozen=True)
class ChartOptions:
    """`log_x`, `log_y` and `full_y` hold the names of metrics; `smoothing` is a place in
    `STRENGTHS`; `words` are the filter of the metrics shown.
    """

    x_count: XCount = "env steps"
    smoothing: int = 0
    log_x: frozenset[str] = frozenset()
    log_y: frozenset[str] = frozenset()
    full_y: frozenset[str] = frozenset()
    window: XWindow = field(default_factory=XWindow)
    cursor: float | None = None
    shows_difference: bool = False
    words: tuple[str, ...] = ()
    arrangement: Arrangement = field(default_factory=Arrangement)

    @property
    def strength(self) -> float:
        return STRENGTHS[self.smoothing]

    def with_log_toggled(self, axis: str, name: str) -> ChartOptions:
        """Axis "x" or "y" of the chart of metric `name` logarithmic, or linear again."""
        if axis == "x":
            return replace(self, log_x=self.log_x ^ {name})
        return replace(self, log_y=self.log_y ^ {name})

    def with_full_toggled(self, name: str) -> ChartOptions:
        """All values of metric `name` on the vertical axis, or what most of the curve needs."""
        return replace(self, full_y=self.full_y ^ {name})

    def with_more_smoothing(self) -> ChartOptions:
        """The next strength; none after the strongest."""
        return replace(self, smoothing=(self.smoothing + 1) % len(STRENGTHS))

    def with_next_count(self) -> ChartOptions:
        """The next thing to count on the horizontal axis, all of it shown."""
        place = (X_COUNTS.index(self.x_count) + 1) % len(X_COUNTS)
        return replace(self, x_count=X_COUNTS[place], window=XWindow(), cursor=None)

    def with_words(self, words: tuple[str, ...]) -> ChartOptions:
        return replace(self, words=words)

    def reset(self) -> ChartOptions:
        """All of the axis, no cursor, no smoothing, axes as they come, all charts; the filter and
        pins stay.
        """
        return ChartOptions(
            x_count=self.x_count, words=self.words, arrangement=self.arrangement.reset()
        )

    def in_words(self) -> str:
        """Options that differ from the default, for the charts' title or a notice."""
        parts = [] if self.x_count == X_COUNTS[0] else [f"over {self.x_count}"]
        if self.window.width is not None:
            parts.append("zoomed" + ("" if self.window.end is not None else ", following"))
        if self.smoothing:
            parts.append(f"smoothed {100 * self.strength:g}%")
        if self.shows_difference:
            parts.append("difference to the reference")
        if self.words:
            parts.append(f"only /{' '.join(self.words)}")
        return " · ".join(parts)
