"""How long each rank works and waits: every rank measures itself, and rank 0 publishes all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...shared.runs.speed import SpeedWindow
from ...shared.runs.status import ENV_STEPS_PER_S
from ..config.metrics import MAX_PUBLISHED_RANKS
from ..machine.stopwatch import Stopwatch
from .step import Step

if TYPE_CHECKING:
    from ..experiment.experiment import Experiment
    from ..experiment.intervals import Due

EVERY_S = 1.0


class RankTiming:
    """Seconds of an iteration in which this rank works, and in which it waits for others: means
    over the newest 30 seconds of training. Its `stopwatch` measures waiting from here on.
    """

    def __init__(self, experiment: Experiment, stopwatch: Stopwatch) -> None:
        self._experiment, self._stopwatch = experiment, stopwatch
        stopwatch.sums_s = lambda: experiment.ranks.clock.waited_s
        begun_s = stopwatch.training_s
        self._iterations = SpeedWindow(begun_s, experiment.iteration)
        self._waiting = SpeedWindow(begun_s, stopwatch.all_reduce_s)

    def of_iteration(self) -> tuple[float, float]:
        """Working and waiting, after an iteration that has just ended."""
        clock_s = self._stopwatch.training_s
        iterations_per_s = self._iterations.add(clock_s, self._experiment.iteration)
        waiting_fraction = self._waiting.add(clock_s, self._stopwatch.all_reduce_s)
        iteration_s = 1 / max(iterations_per_s, 1e-9)
        return iteration_s * (1 - waiting_fraction), iteration_s * waiting_fraction


class RankTable(Step):
    """The metrics of all ranks, for rank 0's page. Other ranks send their timings with their signs
    of life.
    """

    def __init__(
        self,
        experiment: Experiment,
        stopwatch: Stopwatch,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ranks, self._now = experiment.ranks, now
        self._timing = RankTiming(experiment, stopwatch)
        self._next_s = now()

    def after(self, row: dict[str, float], due: Due) -> None:
        """Add the metrics of all ranks to those of an iteration."""
        row |= self.row(row[ENV_STEPS_PER_S])

    def row(self, env_steps_per_s: float) -> dict[str, float]:
        """The metrics after an iteration, if a second has passed since the last; else nothing.
        `env_steps_per_s` is the speed of all ranks together.
        """
        timings = {0: self._timing.of_iteration()}
        if self._now() < self._next_s:
            return {}
        self._next_s = self._now() + EVERY_S
        if self._ranks.watch:
            timings |= self._ranks.watch.timings
        shares = self._ranks.shares
        total_envs = sum(share.num_envs for share in shares)
        row: dict[str, float] = {}
        for rank, share in enumerate(shares[:MAX_PUBLISHED_RANKS]):
            row[f"rank/{rank}/num_envs"] = share.num_envs
            row[f"rank/{rank}/env_steps_per_s"] = env_steps_per_s * share.num_envs / total_envs
            if rank in timings:
                row[f"rank/{rank}/work_s"], row[f"rank/{rank}/wait_s"] = timings[rank]
        return row
