"""Publishes the metrics of a run, its speed, the seconds of its phases, and its progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from ...shared import MetricsWriter
from ...shared.page.events import Level
from ...shared.runs.speed import SpeedWindow, time_left_s
from ...shared.runs.status import AVERAGE_ENV_STEPS_PER_S, ENV_STEPS_PER_S, ETA_S, PROGRESS_FRACTION
from ..config.metrics import GRAD_NORM
from ..machine.stopwatch import OTHER, Stopwatch
from .step import Step

if TYPE_CHECKING:
    from ..experiment.intervals import Due

Report = Callable[[Mapping[str, float], int, int], None]

PUBLISH_INTERVAL_S = 0.25
SAY_EVERY_S = 0.05

LATE_AFTER_S, LATE_FACTOR = 5.0, 3.0  # an iteration that no time left is promised in
NUM_UPDATES, UPDATES_PER_S = "updates/count", "updates/per_s"


class Work(Protocol):
    """The part of an experiment that telemetry measures."""

    @property
    def iteration(self) -> int:
        """Finished iterations."""

    @property
    def env_steps(self) -> int:
        """Env steps of all finished iterations."""

    @property
    def env_steps_so_far(self) -> int:
        """Env steps with those of the iteration under way."""

    @property
    def unplanned_env_steps(self) -> int:
        """Env steps beyond those of all rollouts."""

    @property
    def planned_env_steps(self) -> int:
        """Env steps of all rollouts, at the run's end."""

    @property
    def work_done(self) -> object:
        """A value that changes with every finished piece of work."""


class Telemetry(Step):
    """Measures and publishes every iteration, and in between progress a few times a second.

    Progress is published only when there is some, so that a run that hangs is seen to stall.
    """

    def __init__(
        self,
        metrics: MetricsWriter,
        work: Work,
        now: Callable[[], float] = time.perf_counter,
        report: Report = lambda *_: None,
        *,
        num_pauses: Mapping[str, int] | None = None,
        average_before: float = math.nan,
    ) -> None:
        """`work` is asked how far it is; `report` is called with every publish. `num_pauses` of the
        stopwatch's kinds are to come, and `average_before` was the run's speed up to here.
        """
        self.stopwatch = Stopwatch(now, metrics.phase)
        self._metrics, self._work = metrics, work
        self.is_to_compile = False  # in the next iteration, which speeds leave out
        self._now, self._report = now, report
        self._publish_at = now()
        self._said_at = self._publish_at
        self._num_pauses = dict(num_pauses or {})
        self._iteration_s = begun_s = self.stopwatch.training_s
        self._window = SpeedWindow(begun_s, work.env_steps)
        self._planned_window = SpeedWindow(begun_s, self._planned_steps)
        # The average counts from where these training seconds and env steps were 0.
        self._begun_steps = work.env_steps
        self._zero_s, self._zero_steps = begun_s, work.env_steps
        if average_before > 0:
            self._zero_s, self._zero_steps = begun_s - work.env_steps / average_before, 0
        self._update_window: SpeedWindow | None = None  # where updates are counted
        self._has_updated = False
        self._longest_s = 0.0  # iteration, of those that the time left is known from
        self._last_work_done = work.work_done
        self._has_bad_losses = False

    def after(self, row: dict[str, float], due: Due) -> None:
        """Add the speed, the phases and the progress of an iteration to its metrics."""
        clock_s = self.stopwatch.training_s
        if self._planned_window.is_steady:
            self._longest_s = max(self._longest_s, clock_s - self._iteration_s)
        begun_s, self._iteration_s = self._iteration_s, clock_s
        env_steps = self._work.env_steps
        # The publish phase shown is the one before: this one is not over yet.
        row |= _adding_up(self.stopwatch.take(), row) | row
        row[ENV_STEPS_PER_S] = self._window.add(clock_s, env_steps)
        if NUM_UPDATES in row and not self._has_updated:
            # Env steps are much faster as long as they only fill the replay.
            self._has_updated = row[NUM_UPDATES] > 0
            self._planned_window = SpeedWindow(clock_s, self._planned_steps)
        self._planned_window.add(clock_s, self._planned_steps)
        if NUM_UPDATES in row:
            num_updates = int(row[NUM_UPDATES])
            self._update_window = self._update_window or SpeedWindow(clock_s, num_updates)
            row[UPDATES_PER_S] = self._update_window.add(clock_s, num_updates)
        seconds = max(clock_s - self._zero_s, 1e-9)
        row[AVERAGE_ENV_STEPS_PER_S] = (env_steps - self._zero_steps) / seconds
        if self.is_to_compile:
            self.is_to_compile = False
            self._zero_s += clock_s - begun_s
            self._zero_steps += env_steps - self._begun_steps
            self._window = SpeedWindow(clock_s, env_steps)
            self._planned_window = SpeedWindow(clock_s, self._planned_steps)
        self._report_bad_losses(row)
        row |= self._progress()

    def tick(self) -> None:
        """Publish the progress if it is time to and there is any."""
        if self._now() - self._publish_at < PUBLISH_INTERVAL_S:
            return
        work_done = self._work.work_done
        if work_done != self._last_work_done:
            self._last_work_done = work_done
            self.publish({})

    def progress(self, done: int, total: int, unit: str) -> None:
        """Say how far the present phase is, not more often than anyone could see."""
        if self._now() - self._said_at >= SAY_EVERY_S:
            self._said_at = self._now()
            self.stopwatch.say_progress(done, total, unit)

    def _report_bad_losses(self, values: Mapping[str, float]) -> None:
        """Publish an error for the first loss of a run that is not finite."""
        if self._has_bad_losses:
            return
        for name, value in values.items():
            if (name.startswith("loss/") or name == GRAD_NORM) and not math.isfinite(value):
                self._has_bad_losses = True
                self.event("error", f"{name} is {value} in iteration {self._work.iteration}")
                return

    def event(self, level: Level, text: str) -> None:
        self._metrics.event(level, text, self._work.env_steps)

    @contextmanager
    def errors_as_events(self, *kinds: type[Exception], what: str = "") -> Iterator[None]:
        """Errors of these kinds inside become events, which begin with `what`, by default the kind:
        training goes on.
        """
        try:
            yield
        except kinds as error:
            self.event("error", f"{what or type(error).__name__}: {error}")

    @property
    def _planned_steps(self) -> int:
        """Env steps of all finished rollouts."""
        return self._work.env_steps - self._work.unplanned_env_steps

    def publish(self, values: Mapping[str, float]) -> None:
        """Publish a row of these values, with the progress."""
        row = {**values, **self._progress()}
        iteration, env_steps = self._work.iteration, self._work.env_steps_so_far
        with self.stopwatch.phase("publish"):
            self._metrics.publish(row, iteration, env_steps)
        self._publish_at = self._now()
        self._report(row, iteration, env_steps)

    def _progress(self) -> dict[str, float]:
        done = self._work.env_steps_so_far - self._work.unplanned_env_steps
        return {
            PROGRESS_FRACTION: min(1.0, done / max(1, self._work.planned_env_steps)),
            ETA_S: self._time_left_s(),
        }

    def _time_left_s(self) -> float:
        """NaN where it is not known: in the first iteration, in those that only fill the replay, in
        the first that updates, and while an iteration takes much longer than any before.
        """
        watch = self.stopwatch
        since_s = watch.training_s - self._iteration_s
        is_late = since_s > max(LATE_AFTER_S, LATE_FACTOR * self._longest_s)
        if is_late or not self._planned_window.is_steady:
            return math.nan
        left = max(0, self._work.planned_env_steps - self._planned_steps)
        pauses = [
            (max(0, planned - watch.num_pauses[kind]), watch.pause_s(kind))
            for kind, planned in self._num_pauses.items()
        ]
        left_s = time_left_s(left, self._planned_window.per_s, since_s, pauses)
        return math.nan if left_s is None else left_s


def _adding_up(taken: dict[str, float], values: Mapping[str, float]) -> dict[str, float]:
    """The phases `taken`, with what is left for `other` where `values` know some of them better:
    a GPU times its own.
    """
    other = f"time/{OTHER}_s"
    better = [name for name in taken if name in values]
    rest = taken[other] + sum(taken[name] - values[name] for name in better)
    return {**taken, other: max(0.0, rest)}


class Publishing(Step):
    """Publishes the row of each iteration, with all that the steps before this one have added."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def after(self, row: dict[str, float], due: Due) -> None:
        self._telemetry.publish(row)
