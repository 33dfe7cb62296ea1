"""What a rank measures of itself, besides the phases of its iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...shared.runs.ranks import (
    RANK_ENV_STEPS_PER_S,
    RANK_ITERATION_S,
    RANK_NUM_ENVS,
    RANK_WAITING_FRACTION,
)
from ...shared.runs.speed import SpeedWindow
from ..machine.stopwatch import Stopwatch

if TYPE_CHECKING:
    from ..experiment.experiment import Experiment


class OwnShare:
    """The share that a rank has of the environments and their speed, and how long it waits for the
    others, over the newest 30 seconds of training. Its `stopwatch` tells waiting from here on.
    """

    def __init__(self, experiment: Experiment, stopwatch: Stopwatch) -> None:
        self._experiment, self._stopwatch = experiment, stopwatch
        stopwatch.sums_s = lambda: experiment.ranks.clock.waited_s
        begun_s = stopwatch.training_s
        self._env_steps = SpeedWindow(begun_s, experiment.env_steps)
        self._iterations = SpeedWindow(begun_s, experiment.iteration)
        self._waiting = SpeedWindow(begun_s, stopwatch.all_reduce_s)

    def of_iteration(self) -> dict[str, float]:
        """The metrics of an iteration that has just ended."""
        clock_s, experiment = self._stopwatch.training_s, self._experiment
        whole = experiment.config.num_envs
        num_envs = len(experiment.ranks.my_rows(whole))
        env_steps_per_s = self._env_steps.add(clock_s, experiment.env_steps)
        iterations_per_s = self._iterations.add(clock_s, experiment.iteration)
        return {
            RANK_NUM_ENVS: num_envs,
            RANK_ENV_STEPS_PER_S: env_steps_per_s * num_envs / whole,
            RANK_ITERATION_S: 1 / max(iterations_per_s, 1e-9),
            RANK_WAITING_FRACTION: self._waiting.add(clock_s, self._stopwatch.all_reduce_s),
        }
