"""operant's sides of a benchmark: raw stepping, rollouts with a policy, and training."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch

from ...trainer.config import TrainConfig
from ...trainer.envs.hosts import describe, load_spec
from ...trainer.envs.spec import EnvSpec
from ...trainer.envs.vector import Transitions, VectorEnv
from ...trainer.experiment.build import device_experiment, processor_experiment
from ...trainer.experiment.experiment import Experiment
from ...trainer.machine.stopwatch import Stopwatch
from ...trainer.machine.threads import fastest_num_threads
from ...trainer.spaces import Discrete, MultiDiscrete
from .measuring import Sample, Side, timed

ACTION_ROWS = 64  # different actions before they repeat
MOST_SETTLING_S = 60.0


def random_actions(spec: EnvSpec, steps: int, num_envs: int) -> np.ndarray[Any, Any]:
    """Actions [steps, N, ...] of an environment."""
    random, shape, actions = np.random.default_rng(0), (steps, num_envs), spec.actions
    if isinstance(actions, Discrete):
        return random.integers(actions.n, size=shape)
    if isinstance(actions, MultiDiscrete):
        return random.integers(actions.nvec, size=(*shape, len(actions.nvec)))
    low, high = (np.clip(bound, -1e3, 1e3) for bound in (actions.low, actions.high))
    return random.uniform(low, high, (*shape, actions.action_size)).astype(np.float32)


def own_sides(config: TrainConfig, device: torch.device) -> list[Side]:
    """The sides of `operant bench`: env steps, unless another library makes them, and training."""
    training = Training(config, device)
    spec = describe(config)
    if not isinstance(spec, EnvSpec):
        return [training]
    if device.type == "cuda" and config.num_agents == 1:
        many, one = (CudaEnvs(config.env, config.num_envs, device, at) for at in (True, False))
        return [many, one, training]
    return [ProcessorEnvs(spec, config.num_envs), training]


class ProcessorEnvs:
    """Steps environments on all cores, observations, resets and flags included."""

    name = "env steps"

    def __init__(self, spec: EnvSpec, num_envs: int) -> None:
        self._spec, self._num_envs = spec, num_envs

    def prepare(self) -> None:
        self._envs = VectorEnv(self._spec, self._num_envs, seed=1)
        self._out = Transitions.of(self._spec, self._envs.num_rows)
        self._actions = random_actions(self._spec, ACTION_ROWS, self._envs.num_rows)
        self._envs.reset(self._out.obs)
        self._steps()
        numba.set_num_threads(fastest_num_threads(lambda threads: threads.run(self._steps)))

    def measure(self, seconds: float) -> Sample:
        return timed(self._steps, seconds)

    def _steps(self) -> int:
        for actions in self._actions:
            self._envs.step(actions, self._out)
        return ACTION_ROWS * self._envs.num_rows


class CudaEnvs:
    """Steps environments on a GPU, where the actions lie too: many steps in each launch if
    `at_once`, else one by one, replayed as one graph. Tests run it slowly on the processor.
    """

    def __init__(self, env: str, num_envs: int, device: torch.device, at_once: bool) -> None:
        spec = load_spec(env)
        assert isinstance(spec, EnvSpec)
        self._spec, self._num_envs, self._device = spec, num_envs, device
        self._at_once = at_once
        self.name = "env steps, many a launch" if at_once else "env steps, a launch each"

    def prepare(self) -> None:
        from ...trainer.envs.vector_on_gpu import CudaVectorEnv, Steps
        from ...trainer.jit.graphs import Replayed

        self._stream = on_side_stream(self._device)
        with self._stream():
            envs = CudaVectorEnv(self._spec, self._num_envs, 1, device=self._device)
            drawn = random_actions(self._spec, ACTION_ROWS, self._num_envs)
            actions = torch.from_numpy(drawn).to(self._device)
            out: Any = envs.empty_transitions()
            envs.reset(out.obs)
            if self._at_once:
                rows = Steps.empty(self._spec, ACTION_ROWS, self._num_envs, self._device)

            def steps() -> None:
                if self._at_once:
                    envs.step_many(actions, rows)
                else:
                    for row in actions:
                        envs.step(row, out)

            self._replayed = Replayed(steps, capture=self._device.type == "cuda")
            for _ in range(3):
                self._replayed()
        self._replays = 1
        # Enough for each look at the clock to cost nothing.
        while self._device.type == "cuda" and timed(self._steps, 0).seconds < 0.02:
            self._replays *= 2

    def measure(self, seconds: float) -> Sample:
        return timed(self._steps, seconds)

    def _steps(self) -> int:
        with self._stream():
            for _ in range(self._replays):
                self._replayed()
        wait_for(self._device)
        return self._replays * ACTION_ROWS * self._num_envs


class Training:
    """Trains: collecting, advantages, epochs of minibatches, optimizer."""

    name = "training"

    def __init__(self, config: TrainConfig, device: torch.device) -> None:
        # Schedules must not end while this is measured.
        self._config = config.model_copy(update={"total_env_steps": 10**15})
        self._device = device

    def prepare(self) -> None:
        config, device = self._config, self._device
        if device.type == "cuda":
            self.experiment = device_experiment(config, device)
        else:
            self.experiment = processor_experiment(config)
        warm_up(self.experiment, 3)

    def measure(self, seconds: float) -> Sample:
        stopwatch, phases = Stopwatch(), {"collect": 0.0, "learn": 0.0}
        first, start = self.experiment.iteration, time.perf_counter()
        rows: list[dict[str, float]] = []
        while time.perf_counter() - start < seconds:
            rows += self.experiment.iterate(stopwatch, wait=False)
        rows += self.experiment.finish()
        elapsed_s = time.perf_counter() - start
        rows.append(stopwatch.take())
        for row in rows:
            for phase in phases:
                phases[phase] += row.get(f"time/{phase}_s", 0.0)
        env_steps = (self.experiment.iteration - first) * self._config.rollout_size
        return Sample(env_steps, elapsed_s, phases)


def warm_up(experiment: Experiment, iterations: int) -> None:
    """Run `iterations` that learn, and those in which the number of threads is chosen, which would
    distort a measurement.
    """
    start = time.perf_counter()
    while iterations > 0 or not is_settled(experiment):
        for values in experiment.iterate(Stopwatch(), wait=True):
            iterations -= "optimizer/learning_rate" in values
        if time.perf_counter() - start > MOST_SETTLING_S:
            return  # such as while a large replay fills


def is_settled(experiment: Experiment) -> bool:
    choice = getattr(experiment.executor, "thread_choice", None)
    return choice is None or choice.is_settled


def on_side_stream(device: torch.device) -> Callable[[], Any]:
    """A function that makes contexts in which work goes to one stream that can be captured."""
    if device.type != "cuda":
        return contextlib.nullcontext
    make_stream: Any = torch.cuda.Stream
    stream = make_stream(device)
    return lambda: torch.cuda.stream(stream)


def wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
