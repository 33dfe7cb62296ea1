"""What the trainer tells the page: its metrics, where the time goes, and how far it is."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from ..shared import Metric, MetricsWriter
from ..shared.events import Level
from .envs import LEARNED_ENV_NAMES

Report = Callable[[Mapping[str, float], int, int], None]

PUBLISH_INTERVAL_S = 0.25
SPEED_WINDOW_S = 1.0  # or the last iteration, where that took longer

GRAD_NORM = "optimizer/grad_norm"
PHASES = ("collect", "learn", "evaluate", "checkpoint", "publish")

METRICS = (
    Metric("episode/return", "reward", better="up",
           description="mean of the episodes that ended in the iteration"),
    Metric("episode/length", "env steps", description="mean of the episodes that ended"),
    Metric("episode/count", "episodes", level=1, description="how many ended in the iteration"),
    Metric("evaluation/return", "reward", better="up",
           description="mean of greedy episodes, a fixed number"),
    Metric("evaluation/length", "env steps", level=1, description="mean of greedy episodes"),
    Metric("loss/policy", description="clipped objective, negated"),
    Metric("loss/value", better="down", description="half the squared error of the values"),
    Metric("policy/entropy", "nats", description="mean entropy of the action distributions"),
    Metric("policy/approx_kl", "nats", description="how far the update moved the policy"),
    Metric("policy/clip_fraction", level=1, description="ratios outside the clip range"),
    Metric("value/explained_variance", better="up",
           description="part of the returns' variance that the values predict"),
    Metric("optimizer/learning_rate", level=1, description="as scheduled"),
    Metric(GRAD_NORM, level=1, description="before clipping, mean of the networks"),
    Metric("speed/env_steps_per_s", "env steps/s", better="up",
           description="over the last second, everything included"),
    Metric("progress/fraction", description="env steps done, of those asked for"),
    Metric("progress/eta_s", "s", "timer", description="time left at the recent speed"),
    *(Metric(f"time/{phase}_s", "s", "timer", level=1, description=f"{phase}, of the iteration")
      for phase in PHASES),
)  # fmt: skip


# Of runs on TinyPhysics, besides the others.
TINYPHYSICS_METRICS = (
    Metric("cost/total", "cost", better="down", description="mean of the training episodes"),
    Metric("cost/held_out", "cost", better="down",
           description="mean of the routes held out, the policy's mean steering"),
    Metric("cost/lataccel", "cost", better="down", description="of tracking, training episodes"),
    Metric("cost/jerk", "cost", better="down", description="of comfort, training episodes"),
    Metric("cost/held_out_lataccel", "cost", level=1, better="down",
           description="of tracking, routes held out"),
    Metric("cost/held_out_jerk", "cost", level=1, better="down",
           description="of comfort, routes held out"),
    Metric("loss/cloning", "nats", level=1, better="down",
           description="negative log-likelihood after behaviour cloning"),
)  # fmt: skip


def metrics_of(env: str) -> tuple[Metric, ...]:
    """What a run on the environment of that name publishes."""
    return METRICS + TINYPHYSICS_METRICS if env in LEARNED_ENV_NAMES else METRICS


class Stopwatch:
    """Seconds by phase since the last `take`."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        start = self._now()
        try:
            yield
        finally:
            self._seconds[name] += self._now() - start

    def take(self) -> dict[str, float]:
        """The seconds so far as metrics, and begin anew."""
        taken = {f"time/{name}_s": seconds for name, seconds in self._seconds.items()}
        self._seconds = dict.fromkeys(PHASES, 0.0)
        return taken


class Work(Protocol):
    """What telemetry asks of the thing that is being done."""

    iteration: int

    @property
    def env_steps(self) -> int:
        """Of all finished iterations."""

    @property
    def env_steps_so_far(self) -> int:
        """With those of the iteration under way."""

    @property
    def mark(self) -> object:
        """Something that changes whenever work is done."""


class Telemetry:
    """Publishes every iteration, and between iterations progress a few times a second.

    Progress is published only when there is some, so that a run that hangs is seen to stall.
    """

    def __init__(
        self,
        metrics: MetricsWriter,
        total_env_steps: int,
        work: Work,
        now: Callable[[], float] = time.perf_counter,
        report: Report = lambda *_: None,
    ) -> None:
        """`work` is asked how far it is; `report` is told of every publish."""
        self.stopwatch = Stopwatch(now)
        self._metrics, self._total, self._work = metrics, total_env_steps, work
        self._now, self._report = now, report
        self._publish_at = now()
        self._window = deque([(self._publish_at, work.env_steps)])
        self._env_steps_per_s = 0.0
        self._last_mark = work.mark
        self._has_bad_losses = False

    def iteration(self, values: Mapping[str, float]) -> None:
        """Publish what an iteration gave, together with its speed, its phases and the progress."""
        self._env_steps_per_s = self._recent_env_steps_per_s()
        # The publish phase shown is the one before: this one is not over yet.
        row = {**self.stopwatch.take(), **values, "speed/env_steps_per_s": self._env_steps_per_s}
        self._look_for_bad_losses(values)
        with self.stopwatch.phase("publish"):
            self._publish(row)

    def tick(self) -> None:
        """Publish the progress if it is time to and there is any."""
        if self._now() - self._publish_at < PUBLISH_INTERVAL_S:
            return
        mark = self._work.mark
        if mark != self._last_mark:
            self._last_mark = mark
            self._publish({})

    def _look_for_bad_losses(self, values: Mapping[str, float]) -> None:
        """Say once in a run that, when and where a loss first was not a number."""
        if self._has_bad_losses:
            return
        for name, value in values.items():
            if (name.startswith("loss/") or name == GRAD_NORM) and not math.isfinite(value):
                self._has_bad_losses = True
                self.event("error", f"{name} is {value} in iteration {self._work.iteration}")
                return

    def _recent_env_steps_per_s(self) -> float:
        """Over the iterations of the window, with all that they included."""
        window, now, env_steps = self._window, self._now(), self._work.env_steps
        while len(window) > 1 and window[1][0] <= now - SPEED_WINDOW_S:
            window.popleft()
        since, steps_then = window[0]
        window.append((now, env_steps))
        return (env_steps - steps_then) / max(now - since, 1e-9)

    def event(self, level: Level, text: str) -> None:
        self._metrics.event(level, text, self._work.env_steps)

    @contextmanager
    def errors_as_events(self, *kinds: type[Exception]) -> Iterator[None]:
        """Errors of these kinds inside become events: training goes on."""
        try:
            yield
        except kinds as error:
            self.event("error", f"{type(error).__name__}: {error}")

    def _publish(self, row: dict[str, float]) -> None:
        iteration, env_steps = self._work.iteration, self._work.env_steps_so_far
        row["progress/fraction"] = min(1.0, env_steps / self._total)
        if self._env_steps_per_s:
            row["progress/eta_s"] = max(0, self._total - env_steps) / self._env_steps_per_s
        self._metrics.publish(row, iteration, env_steps)
        self._publish_at = self._now()
        self._report(row, iteration, env_steps)
