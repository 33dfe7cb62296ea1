"""A run's changing parts on a GPU: whole iterations are given to it, and their numbers come back
when they are there.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from ..config import TrainConfig
from ..envs import load_spec
from ..evaluation import Evaluation, Progress, evaluate
from ..experiment import make_policy, part_seed
from ..normalizers import RewardNormalizer
from ..staged_values import SpanTimer, StagedValues, event_maker
from ..stopwatch import Stopwatch
from .fused import FusedCollector
from .graphs import Replayed
from .learning import METRIC_NAMES, CudaPPO
from .rollout import CudaCollector
from .vector import CudaVectorEnv

EPISODE_NAMES = ("episode/count", "episode/return", "episode/length")
LOOK_AGAIN_S = 0.0002

Arrived = tuple[int, dict[str, float]]


class CudaExperiment:
    """Environments, policy and learner of one configuration, in the memory of one device.

    `num_started` iterations were given to the device; `iteration` of them are known to be finished.
    At most as many are under way as `StagedValues` has slots. With `capture`, collecting and
    learning replay from graphs. On the processor all is finished as soon as it is started.
    """

    def __init__(
        self, config: TrainConfig, device: torch.device, capture: bool | None = None
    ) -> None:
        # Products of matrices are added up in the same order every time only with this.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        self.config, self.device = config, device
        self._tick: Callable[[], None] = lambda: None
        self.why_pytorch = ""  # there is no other way here
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        capture = device.type == "cuda" if capture is None else capture
        with self._on_stream():
            self._make_parts()
        self._collect = Replayed(self.collector.collect, capture)
        self._learn = Replayed(self._learn_and_measure, capture)
        self.num_started = self.iteration = 0

    def _make_parts(self) -> None:
        config, device = self.config, self.device
        self.spec = load_spec(config.env)
        self.policy = make_policy(config)
        self.policy.to_device(device)
        self.envs = CudaVectorEnv(self.spec, config.num_envs, config.seed, device=device)
        make_collector = FusedCollector if config.rollout == "fused" else CudaCollector
        self.collector = make_collector(self.envs, self.policy, config.rollout_steps)
        self.learner = CudaPPO(
            self.policy, config.ppo, self.collector.rollout, part_seed(config, "learner")
        )
        self.reward_normalizer = (
            RewardNormalizer(config.num_envs, config.ppo.gamma).to(device)
            if config.normalization.reward
            else None
        )
        self._num_learned = torch.zeros((), dtype=torch.float64, device=device)
        self._staged = StagedValues((*METRIC_NAMES, *EPISODE_NAMES), device)
        self._spans = SpanTimer(event_maker(device))

    @property
    def env_steps(self) -> int:
        """Env steps of all finished iterations."""
        return self.iteration * self.config.rollout_size

    @property
    def env_steps_so_far(self) -> int:
        """The same: how far the iteration under way is, only the device knows."""
        return self.env_steps

    @property
    def mark(self) -> object:
        """Something that changes whenever work is done."""
        return self.iteration

    @property
    def unplanned_env_steps(self) -> int:
        """Env steps beyond those of all rollouts: none."""
        return 0

    def take_notices(self) -> list[str]:
        """Nothing to tell: a GPU has no threads to choose from."""
        return []

    def on_tick(self, tick: Callable[[], None]) -> None:
        """Call `tick` every so often while there is nothing to do but wait."""
        self._tick = tick

    def iterate(self, stopwatch: Stopwatch, wait: bool) -> Iterator[dict[str, float]]:
        """Start an iteration; gives the metrics of those that have finished, in order: all that
        were started where the caller wants to `wait`.
        """
        stopwatch.said("learning")  # and collecting: the device does both faster than one can see
        arrived = self._arrived_until_there_is_room()
        with self._on_stream():
            with self._spans.phase("collect"):
                self._collect()
            with self._spans.phase("learn"):
                self._learn()
            self.num_started += 1
            self._staged.stage(self.num_started, self._spans.take())
        arrived += self._staged.drain() if wait else self._staged.take()
        return self._finished(arrived)

    def collect_only(self) -> None:
        """Fill the rollout and learn nothing from it."""
        with self._on_stream():
            self._collect()

    def finish(self) -> Iterator[dict[str, float]]:
        """Wait for all that was started; gives the metrics that are still to come."""
        return self._finished(self._staged.drain())

    def close(self) -> None:
        pass

    def _arrived_until_there_is_room(self) -> list[Arrived]:
        """What arrives until one more iteration can be started. The device has several to work on
        meanwhile, so it never waits for the host.
        """
        arrived = self._staged.take()
        while not self._staged.has_room:
            self._tick()
            time.sleep(LOOK_AGAIN_S)
            arrived += self._staged.take()
        return arrived

    def _finished(self, arrived: list[Arrived]) -> Iterator[dict[str, float]]:
        for iteration, values in arrived:
            self.iteration = iteration
            if not values["episode/count"]:
                del values["episode/return"], values["episode/length"]
            yield values

    def _learn_and_measure(self) -> None:
        """One iteration's update, and its numbers to where they are sent from."""
        rollout = self.collector.rollout
        rewards = rollout.rewards
        if self.reward_normalizer:
            rewards = self.reward_normalizer.normalized(rewards, rollout.dones)
        metrics = self.learner.update(rewards, self._num_learned / self.config.num_iterations)
        # After the update: all of an iteration sees observations through the same statistics.
        self.policy.observe(rollout.obs[:-1])
        self._num_learned += 1
        count, return_, length = (total.sum() for total in self.envs.totals)
        self.envs.clear_totals()
        episodes = torch.stack([count, return_ / count, length / count])
        self._staged.values.copy_(torch.cat([metrics, episodes]))

    def evaluate(self, num_episodes: int, progress: Progress = lambda *_: None) -> Evaluation:
        """Greedy episodes on the processor, as every other run plays them. Waits for the device."""
        policy = make_policy(self.config)
        policy.load_state_dict(self.policy.state_dict())
        limit = self.config.evaluation.max_episode_steps
        return evaluate(policy, self.spec, num_episodes, self.config.seed, limit, progress)

    def state_dict(self) -> dict[str, Any]:
        """Tensors in main memory and plain values only. Waits for the device."""
        state: dict[str, Any] = {
            "policy": {name: x.cpu() for name, x in self.policy.state_dict().items()},
            "collector": self.collector.state_dict(),
            "learner": self.learner.state_dict(),
        }
        if self.reward_normalizer:
            normalizer = self.reward_normalizer.state_dict()
            state["reward_normalizer"] = {name: x.cpu() for name, x in normalizer.items()}
        return state

    def load_state_dict(self, state: Mapping[str, Any], iteration: int) -> None:
        with self._on_stream():
            self.policy.load_state_dict(state["policy"])
            self.collector.load_state_dict(state["collector"])
            self.learner.load_state_dict(state["learner"])
            if self.reward_normalizer:
                self.reward_normalizer.load_state_dict(state["reward_normalizer"])
            self._num_learned.fill_(iteration)
        self.iteration = self.num_started = iteration

    def _on_stream(self) -> contextlib.AbstractContextManager[Any]:
        """Everything goes to one stream, which is not the default one: that cannot be captured."""
        return torch.cuda.stream(self._stream) if self._stream else contextlib.nullcontext()
