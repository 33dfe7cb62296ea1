"""When evaluations, checkpoints and inspections are due."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ...shared.page.requests import TakeRequest
from ..config import TrainConfig
from ..settings.interval import Clock, Interval
from .experiment import Experiment


class Due(NamedTuple):
    """The things to do once an iteration is over."""

    evaluation: bool = False
    checkpoint: bool = False
    gradients: bool = False
    weights: bool = False
    trace: bool = False
    episodes: bool = False
    is_last: bool = False  # unless some of its env steps are dead: then more iterations follow


NOTHING = Due()


class Intervals:
    """Tells before each iteration what is due after it: then whoever runs it knows when to wait.

    Env steps are counted as if all of the iteration's were to count, so that what is due at some
    number of them comes at most an iteration early.
    """

    def __init__(
        self,
        experiment: Experiment,
        take_request: TakeRequest = lambda _: False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Seconds count from here on."""
        self._experiment = experiment
        self._config: TrainConfig = experiment.config
        self._take_request, self._now = take_request, now
        self._start = now()
        self._before = Clock(experiment.num_started, experiment.env_steps, 0.0)

    def of_next_iteration(self) -> Due:
        """The things that are due after the next iteration."""
        config, before = self._config, self._before
        after = self._before = self._after_next_iteration()
        evaluates = config.evaluation.num_episodes > 0
        return Due(
            evaluation=evaluates and config.evaluation.is_due(before, after),
            checkpoint=self._take_request("checkpoint") or self._saves(before, after),
            gradients=config.gradients.is_due(before, after),
            weights=config.weights.is_due(before, after),
            trace=self._take_request("trace") or config.trace.is_due(before, after),
            episodes=config.episodes.is_due(before, after),
            is_last=self._experiment.is_complete_after(after.iteration),
        )

    def _saves(self, before: Clock, after: Clock) -> bool:
        """Whether a checkpoint is due. Several ranks save one after the first iteration: any rank
        may be lost, and the others cannot go on without a checkpoint.
        """
        is_first = before.iteration == 0 and self._experiment.ranks.size > 1
        return is_first or self._config.checkpoint.is_due(before, after)

    def _after_next_iteration(self) -> Clock:
        experiment = self._experiment
        under_way = experiment.num_started + 1 - experiment.iteration
        env_steps = experiment.env_steps + under_way * experiment.rollout_size
        return Clock(experiment.num_started + 1, env_steps, self._now() - self._start)


def num_pauses_left(experiment: Experiment) -> dict[str, int]:
    """The numbers of evaluations and checkpoints still to come, by the stopwatch's names, without
    those that come by seconds.
    """
    config, size = experiment.config, experiment.rollout_size
    begun = Clock(experiment.num_started, experiment.env_steps, 0.0)
    last_env_steps = max(experiment.env_steps, experiment.num_iterations * size) - size
    almost = max(Clock(experiment.num_iterations - 1, last_env_steps, 0.0), begun)

    def num_left(interval: Interval) -> int:
        """One at every multiple, and one at the end."""
        if experiment.iteration >= experiment.num_iterations:
            return 0
        return interval.num_due(begun, almost) + 1

    evaluations = num_left(config.evaluation) if config.evaluation.num_episodes else 0
    return {"evaluate": evaluations, "checkpoint": num_left(config.checkpoint)}
