"""An experiment: the parts of a run that change by learning, their state, and its iterations."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..algorithms.algorithm import Algorithm, Metrics
from ..collecting.collector import CollectsRollouts
from ..config import TrainConfig
from ..distributed.process_group import LOCAL, Agreement, ProcessGroup
from ..machine.stopwatch import Stopwatch
from ..machine.thread_choice import ThreadChoice
from ..machine.threads import Threads
from ..machine.values import State
from ..memory.rollout import Rollout
from ..returns.episodes import Evaluation, Progress
from .precompiling import Precompiling

Collect = Callable[[], Any]
Learn = Callable[[], Metrics]
Values = Iterator[dict[str, float]]  # of finished iterations, by metric

DEAD_ENV_STEPS = "dead env steps"  # among the metrics, until they are where the host is


class Executor:
    """Runs iterations, each of which calls `collect` and then `learn`."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.tick: Callable[[], None] = lambda: None  # called while there is nothing to do but wait
        self.span: Callable[[str], AbstractContextManager[Any]] = untraced  # wraps a phase
        self.iteration = self.num_started = 0  # iterations finished, as far as is known, and begun

    def prepared(self) -> AbstractContextManager[Any]:
        """Wraps making and loading the parts of an experiment."""
        return nullcontext()

    def counter(self, start: int = 0) -> Any:
        """A number that `+= 1` changes wherever the work is done."""
        return start

    def work_done(self, algorithm: Algorithm) -> object:
        """A value that changes with every finished piece of work."""
        return self.iteration

    def take_notices(self) -> list[str]:
        """New notices about how iterations run, each returned once."""
        return []

    def iterate(
        self, collect: Collect, learn: Learn, stopwatch: Stopwatch, wait: bool, name: str = "learn"
    ) -> Values:
        """Start an iteration; gives the metrics of those that have finished, in order: all that
        were started where the caller wants to `wait`. Under one `name` `learn` always does the same
        work, and returns metrics of the same names.
        """
        raise NotImplementedError

    def finish(self) -> Values:
        """Wait for all that was started; gives the metrics that are still to come."""
        return iter(())

    def begin_at(self, iteration: int) -> None:
        """Go on after so many iterations."""
        self.iteration = self.num_started = iteration

    def close(self) -> None:
        """Release threads."""


class Inline(Executor):
    """Runs an iteration as it stands, on the processor or on whatever device its parts are on.

    `thread_choice`, if any, receives the time that each took.
    """

    def __init__(self, threads: Threads) -> None:
        super().__init__(torch.device("cpu"))
        self.threads = threads
        self.thread_choice: ThreadChoice | None = None
        threads.tick = lambda: self.tick()
        self._notices: list[str] = []

    def work_done(self, algorithm: Algorithm) -> object:
        return algorithm.work_done

    def take_notices(self) -> list[str]:
        taken, self._notices = self._notices, []
        return taken

    def iterate(
        self, collect: Collect, learn: Learn, stopwatch: Stopwatch, wait: bool, name: str = "learn"
    ) -> Values:
        start_s = time.perf_counter()
        with stopwatch.phase("collect"), self.span("collect"):
            collect()
        with stopwatch.phase("learn"), self.span("learn"):
            values = as_numbers(learn())
        self.begin_at(self.iteration + 1)
        if self.thread_choice and "optimizer/learning_rate" in values:  # it has learned something
            notice = self.thread_choice.iteration(time.perf_counter() - start_s)
            self._notices += [notice] if notice else []
        return iter((values,))

    def close(self) -> None:
        self.threads.close()


def untraced(name: str) -> AbstractContextManager[Any]:
    """The span of a phase while no iteration is traced."""
    return nullcontext()


@dataclass
class Parts:
    """The parts of an experiment. `evaluate` plays so many greedy episodes; `notices` are published
    when the run begins; `precompiling` is waited for before the first update.
    """

    algorithm: Algorithm
    collector: CollectsRollouts
    evaluate: Callable[[int, Progress], Evaluation]
    notices: tuple[str, ...] = ()
    precompiling: Precompiling = field(default_factory=Precompiling)


class Experiment:
    """Environments, policy and algorithm of one configuration, from their first state on."""

    def __init__(
        self,
        config: TrainConfig,
        executor: Executor,
        make_parts: Callable[[], Parts],
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        self.config, self.executor, self.ranks = config, executor, ranks
        # Asked for many times an iteration, and slow to work out.
        self.rollout_size, self.num_iterations = config.rollout_size, config.num_iterations
        self._num_scheduled = config.num_scheduled_iterations * config.rollout_size
        with executor.prepared():
            parts = make_parts()
            self._learned_env_steps: Any = executor.counter()  # dead ones are none
        self.algorithm, self.collector = parts.algorithm, parts.collector
        self.policy, self._evaluate = parts.algorithm.policy, parts.evaluate
        self._precompiling = parts.precompiling
        self._notices = list(parts.notices)
        self._is_collecting = False
        self._collected = (0, 0)  # an iteration, and what was seen of it under way at most
        self.dead_env_steps = 0  # in which an environment did nothing but begin its next episode

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled loops that an iteration calls, in the order of their first calls."""
        return (*self.collector.loops, *self.algorithm.loops)

    @property
    def iteration(self) -> int:
        """Finished iterations."""
        return self.executor.iteration

    @property
    def num_started(self) -> int:
        """Iterations begun."""
        return self.executor.num_started

    @property
    def is_idle(self) -> bool:
        """Whether all that was begun is finished."""
        return self.iteration == self.num_started

    @property
    def is_complete(self) -> bool:
        """Whether all env steps were begun."""
        return self.is_complete_after(self.num_started)

    def is_complete_after(self, iteration: int) -> bool:
        """Whether a run is complete after so many iterations, as far as is known: those
        under way may have dead ones. Without dead ones it is so after `num_iterations`.
        """
        num_alive = iteration * self.rollout_size - self.dead_env_steps
        return num_alive >= self.config.total_env_steps

    @property
    def planned_env_steps(self) -> int:
        """Env steps of all rollouts, at the run's end."""
        if self.dead_env_steps:
            return self.config.total_env_steps
        return self.num_iterations * self.rollout_size

    @property
    def env_steps(self) -> int:
        """Env steps of all finished iterations, and `unplanned_env_steps`."""
        return self.learned_env_steps + self.unplanned_env_steps

    @property
    def learned_env_steps(self) -> int:
        """Env steps of all finished iterations, without dead ones."""
        return self.iteration * self.rollout_size - self.dead_env_steps

    @property
    def unplanned_env_steps(self) -> int:
        """Env steps beyond those of all rollouts."""
        return self.algorithm.pretraining_env_steps

    @property
    def env_steps_so_far(self) -> int:
        """Env steps with those of the iteration under way, where the host knows of them; other
        ranks are taken to be as far. While it learns, what it collected is not forgotten.
        """
        under_way = self.ranks.global_size(self.collector.env_steps_under_way)
        iteration, collected = self._collected
        if iteration == self.iteration:
            under_way = max(under_way, collected)
        self._collected = self.iteration, under_way
        return self.env_steps + under_way

    @property
    def work_done(self) -> object:
        """A value that changes with every finished piece of work."""
        return self.env_steps_so_far, self.executor.work_done(self.algorithm)

    def compile(self, tick: Callable[[], None]) -> None:
        """Have all compiled that torch.compile is asked to, so that no iteration waits for it.
        `tick` is called meanwhile.
        """
        if not self.config.compile or all(loop.signatures for loop in self.algorithm.loops):
            return
        from ..jit.torch_compiling import while_ticking  # seldom wanted

        def work() -> None:
            with self.executor.prepared():
                self.algorithm.warm_up(self.collector.rollout)

        while_ticking(work, tick)

    def on_tick(self, *ticks: Callable[[], None]) -> None:
        """Call `ticks` in order between pieces of work, and while there is nothing to do but wait.
        One may raise where the iteration `may_be_left`.
        """

        def tick() -> None:
            for call in ticks:
                call()

        self.executor.tick = tick

    def iterate(self, stopwatch: Stopwatch, wait: bool) -> Iterator[dict[str, float]]:
        """Start an iteration; gives the metrics of those that have finished, in order: all that
        were started where the caller wants to `wait`.
        """
        if self.algorithm.begins and self.num_started == 0:
            with stopwatch.phase("learn"):
                self.algorithm.begin()
        learns = self.algorithm.begin_iteration()
        finished = self.executor.iterate(
            self.collect, self.learn, stopwatch, wait, "learn" if learns else "remember"
        )
        return map(self._counted, finished)

    def _counted(self, values: dict[str, float]) -> dict[str, float]:
        """The metrics of an iteration, its dead env steps taken out of them and counted."""
        self.dead_env_steps += int(values.pop(DEAD_ENV_STEPS, 0))
        return values

    def take_notices(self) -> list[str]:
        """New notices about how the run goes, each returned once."""
        taken = self._notices + self.executor.take_notices() + self.algorithm.take_notices()
        self._notices = []
        return taken + list(self.collector.take_notices())

    def finish(self) -> Iterator[dict[str, float]]:
        """Wait for all that was started; gives the metrics that are still to come."""
        return map(self._counted, self.executor.finish())

    def agreed(self, stop: bool, checkpoint: bool) -> Agreement:
        """The decision of all ranks about what comes next."""
        return self.ranks.agree(stop, checkpoint, *self.algorithm.weights)

    def collect(self) -> Rollout:
        """One rollout, with the policy as it explores now."""
        if self.algorithm.under_way:  # by a run that was stopped between two updates
            return self.collector.rollout
        if not self.config.overlap:  # else learning may change how far the run is meanwhile
            self.algorithm.explore(self._progress_fraction)
        self._is_collecting = True
        rollout = self.collector.collect()
        self._is_collecting = False
        return rollout

    @property
    def may_be_left(self) -> bool:
        """Whether the iteration under way may be left by an exception of the executor's `tick`.
        What was collected by then is lost, where a checkpoint could not hold it anyway; updates are
        kept. Several ranks stop between iterations only.
        """
        if self.ranks.size > 1:
            return False
        is_lost_anyway = self._is_collecting and not self.collector.resumes_exactly
        return is_lost_anyway or self.is_amid_updates

    @property
    def is_amid_updates(self) -> bool:
        """Whether an iteration was left between two of its updates."""
        return self.algorithm.under_way is not None

    def learn(self) -> Metrics:
        """One update from the rollout, and its metrics."""
        if self._precompiling.helper:
            self._precompiling.wait(self.executor.tick)
        rollout, left = self.collector.rollout, self.algorithm.under_way
        metrics = dict(self.algorithm.update(rollout, self._progress_fraction))
        metrics |= self.collector.details
        dead: Any = 0
        if left:  # the rollout was another process's
            dead = self.rollout_size - left.env_steps
        elif rollout.valid is not None:
            dead = self.ranks.sum((~rollout.valid).sum())
        if isinstance(self._learned_env_steps, int):
            dead = int(dead)
        self._learned_env_steps += self.rollout_size - dead
        if left or rollout.valid is not None:
            metrics[DEAD_ENV_STEPS] = dead
        totals = self.collector.take_episode_totals()
        if self.ranks.size > 1:
            self.ranks.sum(totals)
        count, return_, length = totals.unbind()
        return metrics | {
            "episode/count": count,
            "episode/return": return_ / count,
            "episode/length": length / count,
        }

    @property
    def _progress_fraction(self) -> Any:
        fraction = self._learned_env_steps / self._num_scheduled
        return fraction.clamp(max=1) if isinstance(fraction, Tensor) else min(fraction, 1.0)

    def evaluate(self, num_episodes: int, progress: Progress = lambda *_: None) -> Evaluation:
        """Greedy episodes; waits for all that was started. `progress` receives how far they are."""
        evaluation = self._evaluate(num_episodes, progress)
        if evaluation.from_start is None:
            return evaluation
        details = self.algorithm.compare(evaluation.from_start)
        return replace(evaluation, details={**evaluation.details, **details})

    def close(self) -> None:
        self._precompiling.close()
        self.collector.close()
        self.executor.close()

    def state_dict(self) -> State:
        """Tensors in main memory, which go on changing as training does, and plain values only.
        Waits for the device.
        """
        return {
            "policy": {name: self._whole(name, x) for name, x in self.policy.state_dict().items()},
            "collector": self.collector.state_dict(),
            "learner": self.algorithm.state_dict(),
            "dead_env_steps": self.dead_env_steps,
            **self.algorithm.extra_state(),
        }

    def _whole(self, name: str, own: Tensor) -> Tensor:
        """A part of the policy's state, in main memory: of the rows of all ranks where it is of
        rows.
        """
        return self.ranks.gather(own.cpu()) if name in self.policy.of_rows else own.cpu()

    def load_state_dict(self, state: State, iteration: int) -> None:
        with self.executor.prepared():
            policy = dict(state["policy"])
            policy |= {name: self.ranks.my_slice(policy[name]) for name in self.policy.of_rows}
            self.policy.load_state_dict(policy)
            self.collector.load_state_dict(state["collector"])
            self.algorithm.load_state_dict(state["learner"])
            self.algorithm.load_extra_state(state)
            if not self.collector.resumes_exactly:
                self.algorithm.forget_episodes()
            self.dead_env_steps = int(state.get("dead_env_steps", 0))
            # In place: graphs remember where it lies.
            self._learned_env_steps *= 0
            self._learned_env_steps += iteration * self.rollout_size - self.dead_env_steps
        self.executor.begin_at(iteration)


def as_numbers(metrics: Metrics) -> dict[str, float]:
    return without_empty_means({name: float(value) for name, value in metrics.items()})


def without_empty_means(values: dict[str, float]) -> dict[str, float]:
    """Remove the means over episodes if no episode ended."""
    if math.isnan(values.get("episode/return", 0.0)) and not values.get("episode/count"):
        del values["episode/return"], values["episode/length"]
    return values
