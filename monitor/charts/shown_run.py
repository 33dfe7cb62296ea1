"""A run as charts show it: its view, its place on the axis, and how it differs from others."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...shared import Event
from ..runs.reading.run_view import RunView
from .curves import Curve, curve_of, curve_over, steps_of
from .smoothing import smoothed
from .x_axis import XAxis, XCount, x_axis

NUM_LOOKS = 8
MAX_CURVES = 256
_DASHES = ((1, 0), (6, 3), (2, 2), (9, 2), (4, 5), (3, 1), (7, 6), (1, 3))  # dots on, dots off
_MARKERS = ("●", "▲", "■", "◆", "▼", "○", "△", "□")


@dataclass(frozen=True)
class Look:
    """How one of several runs is drawn: a colour, a marker and a dash of its own."""

    place: int

    @property
    def style(self) -> str:
        return f"series{self.place}"

    @property
    def dash(self) -> tuple[int, int]:
        return _DASHES[self.place]

    @property
    def marker(self) -> str:
        return _MARKERS[self.place]


class Watched(NamedTuple):
    """One of the runs on a screen. Without a `look` it is alone there."""

    view: RunView
    look: Look | None = None
    is_reference: bool = False

    def news(self) -> tuple[object, ...]:
        """A key of its curves: equal as long as they look the same."""
        view = self.view
        alive = view.status.is_alive
        return (
            *(id(view.history), id(view.detail), view.publish, len(view.schema)),
            *(alive, self.look, self.is_reference),
        )


@dataclass(frozen=True, eq=False)
class ShownRun:
    """One run among those on the charts. Without a `look` it is alone, and its curves have the
    colours of their groups.
    """

    view: RunView
    axis: XAxis
    count: XCount
    look: Look | None = None
    is_reference: bool = False
    _curves: dict[tuple[object, ...], Curve] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return ("ref " if self.is_reference else "") + self.view.name

    def curve(
        self,
        name: str,
        strength: float = 0.0,
        x_span: float = 0.0,
        *,
        step_metric: str = "",
        shown: tuple[float, float] | None = None,
    ) -> Curve:
        """The curve of metric `name`, smoothed as in `smoothing.smoothed`: over a `step_metric`,
        else over the axis. Of the part that is `shown`, as closely as its rows are at hand.
        """
        part = shown if self.view.history.is_folded and not strength else None
        key = (name, strength, x_span, step_metric, part)
        if key not in self._curves:
            if len(self._curves) >= MAX_CURVES:  # of parts that are no longer looked at
                self._curves.clear()
            plain = self._plain(name, step_metric, part)
            self._curves[key] = smoothed(plain, strength, x_span)
        return self._curves[key]

    def _plain(self, name: str, step_metric: str, shown: tuple[float, float] | None) -> Curve:
        history, axis = self.view.history, self.axis
        if shown is not None:
            x = steps_of(history, step_metric) if step_metric else axis.values
            history = self.view.closer((x >= shown[0]) & (x <= shown[1]))
        if step_metric:
            return curve_over(history, name, step_metric)
        if history is self.view.history:
            return curve_of(history, name, axis.values, axis.pauses)
        return curve_of(history, name, *axis.places_of(history))

    def place_of(self, publish: int) -> float | None:
        """Where a publish lies on the axis; None where the history does not reach it."""
        row = int(np.searchsorted(self.view.history.publish, publish))
        if row >= len(self.axis.values) or self.axis.values[row] < 0:
            return None
        return float(self.axis.values[row])

    def place_of_event(self, event: Event) -> float | None:
        """Where the run was on the axis when something happened: at its env steps, else at the
        newest row of that time, at the first where it was before all.
        """
        if event.env_steps >= 0 and self.axis.unit == "env steps":
            return float(event.env_steps)
        row = int(np.searchsorted(self.view.history.wall_s, event.wall_ns / 1e9, side="right")) - 1
        row = max(row, 0)
        if row >= len(self.axis.values) or self.axis.values[row] < 0:
            return None
        return float(self.axis.values[row])

    def wall_ns_at(self, x: float) -> int | None:
        """When the run had come to `x` on the axis; None where it had not begun."""
        rows = np.flatnonzero((self.axis.values >= 0) & (self.axis.values <= x))
        return int(self.view.history.wall_s[rows[-1]] * 1e9) if len(rows) else None


def shown_run(
    watched: Watched, count: XCount, longest: RunView, before: ShownRun | None
) -> ShownRun:
    """A run on an axis of `count`, in the unit of time that fits `longest`. What was worked out for
    `before` is kept where it still holds.
    """
    view, look, is_reference = watched
    axis, curves = None, {}
    if before and before.view.history is view.history and before.count == count:
        axis = before.axis
        if before.view.detail is view.detail:
            curves = before._curves
    axis = axis or x_axis(view.history, count, longest.history)
    return ShownRun(view, axis, count, look, is_reference, curves)


def assigned_looks(run_ids: Iterable[str], known: Mapping[str, Look]) -> dict[str, Look]:
    """A look for each run: the one it had before, else one its id asks for, else a free one.

    So a run keeps its colour while others come and go. Beyond `NUM_LOOKS` runs, looks repeat.
    """
    looks = dict(known)
    for run_id in run_ids:
        if run_id in looks:
            continue
        wanted = zlib.crc32(run_id.encode("utf-8", "replace")) % NUM_LOOKS
        taken = {look.place for look in looks.values()}
        free = [(wanted + i) % NUM_LOOKS for i in range(NUM_LOOKS)]
        looks[run_id] = Look(next((place for place in free if place not in taken), wanted))
    return looks
