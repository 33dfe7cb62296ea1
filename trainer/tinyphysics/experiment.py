"""The parts of a TinyPhysics run, and their state as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...shared.errors import UsageError
from ..config import TinyPhysicsConfig, TrainConfig
from ..envs.tinyphysics import SPEC
from ..envs.tinyphysics.constants import CONTROL_START, COST_END
from ..envs.tinyphysics.cost import Costs
from ..envs.tinyphysics.draws import reference_draws
from ..envs.tinyphysics.engines.choosing import make_engine
from ..envs.tinyphysics.engines.engine import Engine
from ..envs.tinyphysics.model_file import read_model
from ..envs.tinyphysics.places import model_path, routes_folder
from ..envs.tinyphysics.route_cache import RouteFolder
from ..envs.tinyphysics.routes import Routes
from ..envs.tinyphysics.simulator import simulate
from ..evaluation import Evaluation, Progress
from ..iterations import Iterations
from ..normalizers import RewardNormalizer
from ..policy import ActorCritic
from ..rollout import Rollout, judge
from ..stopwatch import Stopwatch
from ..threads import Threads
from .cloning import clone, demonstrations
from .collecting import EpisodeCollector
from .learning import EpisodePPO
from .steering import TrainedPolicy

SEED_PARTS = ("policy", "learner", "collector", "cloning")


@dataclass(frozen=True)
class Split:
    """Routes to learn from, and routes held out from learning."""

    training: Routes
    held_out: Routes


class TinyPhysicsExperiment(Iterations):
    """Engine, routes, policy and learner of one configuration, from their first state on.

    An iteration is one episode in every environment. Behaviour cloning comes before the first.
    """

    why_pytorch = ""  # nothing to explain: it is PyTorch by design

    def __init__(self, config: TrainConfig, threads: Threads) -> None:
        """Raises UsageError for a model or routes that cannot be used."""
        self.config, self.threads = config, threads
        settings = config.tinyphysics
        self._split = load_split(settings)
        self._engine = cached_engine(settings, config.device, threads.num_threads, config.num_envs)
        self.policy = make_policy(config)
        self.policy.to_device(self._engine.device)
        if settings.precision != "float32":  # then the policy's own products need no more either
            torch.set_float32_matmul_precision("high")
        self._cloning = torch.Generator().manual_seed(_seed(config, "cloning"))
        self.collector = EpisodeCollector(
            self._engine, self._split.training, self.policy, config.num_envs,
            settings.rollouts_per_route, _seed(config, "collector"),
        )  # fmt: skip
        self.learner = EpisodePPO(
            self.policy, config.ppo, _seed(config, "learner"), settings.rollouts_per_route,
            tick=lambda: self.threads.tick(),
        )  # fmt: skip
        normalizer = RewardNormalizer(config.num_envs, config.ppo.gamma)
        self.reward_normalizer = normalizer.to(self._engine.device)
        self.collector.tick = lambda: self.threads.tick()
        self._num_cloning_steps = 0
        self._cloning_env_steps = 0  # that a controller took to be imitated
        self._cloning_loss = math.nan
        self.iteration = 0

    @property
    def env_steps(self) -> int:
        """Env steps of all finished iterations, and of the cloning before them."""
        return self.iteration * self.config.rollout_size + self._cloning_env_steps

    @property
    def unplanned_env_steps(self) -> int:
        """Env steps beyond those of all rollouts: of cloning."""
        return self._cloning_env_steps

    @property
    def env_steps_so_far(self) -> int:
        """Env steps with those of the collection under way."""
        return self.env_steps + int(self.collector.env_steps_under_way)

    @property
    def mark(self) -> object:
        """Something that changes whenever work is done."""
        return self.env_steps_so_far, self.learner.num_steps, self._num_cloning_steps

    def iterate(self, stopwatch: Stopwatch, wait: bool) -> Iterator[dict[str, float]]:
        if self.iteration == 0 and self.config.cloning.num_epochs:
            with stopwatch.phase("learn"):
                self._cloning_loss = self._clone()
        return super().iterate(stopwatch, wait)

    def learn(self, rollout: Rollout) -> dict[str, float]:
        """One iteration's update; returns its metrics."""
        metrics = dict(self.collector.costs)
        normalizer = self.reward_normalizer
        rewards = (
            normalizer.normalized(rollout.rewards, rollout.dones)
            if self.config.normalization.reward
            else rollout.rewards
        )
        if self.iteration == 0:
            metrics["loss/cloning"] = self._cloning_loss
            self._fit_critic(rollout, rewards)
        progress_fraction = self.iteration / self.config.num_iterations
        metrics |= self.learner.update(rollout, rewards, progress_fraction)
        self.iteration += 1
        metrics["episode/count"] = self.config.num_envs
        metrics["episode/return"] = float(rollout.rewards.sum(0).mean())
        metrics["episode/length"] = self.config.rollout_steps
        return metrics

    def evaluate(self, num_episodes: int, progress: Progress = lambda *_: None) -> Evaluation:
        """Drive the held-out routes, as often as the reference does: once, with its draws."""
        routes = self._split.held_out
        routes = routes.at(np.arange(min(num_episodes, len(routes))))
        last = min(COST_END, int(routes.num_rows.max()))

        def tick(step: int) -> None:
            progress(step, last, "steps")
            self.threads.tick()

        costs = route_costs(self._engine, routes, self.policy, tick)
        returns = -costs.total.numpy() * self.config.rollout_steps
        return Evaluation(
            returns=returns,
            lengths=np.minimum(routes.num_rows, COST_END),
            details={
                "cost/held_out": float(costs.total.mean()),
                "cost/held_out_lataccel": float(costs.lataccel.mean()),
                "cost/held_out_jerk": float(costs.jerk.mean()),
            },
        )

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values only."""
        return {
            "policy": self.policy.state_dict(),
            "collector": self.collector.state_dict(),
            "learner": self.learner.state_dict(),
            "cloning": self._cloning.get_state(),
            "cloning_env_steps": self._cloning_env_steps,
            "reward_normalizer": self.reward_normalizer.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], iteration: int) -> None:
        self.policy.load_state_dict(state["policy"])
        self.collector.load_state_dict(state["collector"])
        self.learner.load_state_dict(state["learner"])
        self._cloning.set_state(state["cloning"])
        self._cloning_env_steps = state.get("cloning_env_steps", 0)
        self.reward_normalizer.load_state_dict(state["reward_normalizer"])
        self.iteration = iteration

    def _fit_critic(self, rollout: Rollout, rewards: Tensor) -> None:
        """Before the first update: `rewards` [T, N] are normalised or not, as the update's are."""
        epochs = self.config.tinyphysics.critic_epochs
        if epochs:
            self.learner.fit_critic(rollout, rewards, epochs, self.config.ppo.learning_rate)
            with torch.inference_mode():
                judge(rollout, self.policy)

    def _clone(self) -> float:
        def tick() -> None:
            self._num_cloning_steps += 1
            self.threads.tick()

        if self.config.cloning.source == "pid":
            self._cloning_env_steps = len(self._split.training) * (COST_END - CONTROL_START)
        with torch.inference_mode():
            shown = demonstrations(
                self._engine, self._split.training, self.config.cloning, self._cloning
            )
        return clone(self.policy, shown, self.config.cloning, self._cloning, tick)


def load_split(settings: TinyPhysicsConfig) -> Split:
    """The routes of a configuration: the last `held_out_routes` of them are not learned from."""
    folder = RouteFolder(routes_folder(settings.routes), on_broken="skip")
    count = min(settings.num_routes or len(folder), len(folder))
    num_training = count - settings.held_out_routes
    if num_training < 1:
        raise UsageError(
            f"tinyphysics.held_out_routes = {settings.held_out_routes} leaves no route to learn "
            f"from: there are {count}"
        )
    training = folder.take(range(num_training))
    long_enough = np.flatnonzero(training.num_rows >= COST_END)
    if not len(long_enough):
        raise UsageError(
            f"no route to learn from has {COST_END} rows, the end of the cost window; the longest "
            f"has {training.num_rows.max()}"
        )
    return Split(training.at(long_enough), folder.take(range(num_training, count)))


@cache
def cached_engine(settings: TinyPhysicsConfig, device: str, num_threads: int, batch: int) -> Engine:
    """Measured and built once in a process."""
    model = read_model(model_path(settings.model))
    return make_engine(
        model, settings.engine, device=device, precision=settings.precision,
        num_threads=num_threads, batch=batch,
    )  # fmt: skip


def make_policy(config: TrainConfig) -> ActorCritic:
    return ActorCritic(SPEC, config.policy, False, _seed(config, "policy"))


def route_costs(
    engine: Engine, routes: Routes, policy: ActorCritic, tick: Callable[[int], None]
) -> Costs:
    """Of a policy's mean actions along routes, with the reference's draws."""
    draws = reference_draws(routes.names, int(routes.num_rows.max()))
    return simulate(engine, routes, TrainedPolicy(policy), draws, tick=tick).costs


def _seed(config: TrainConfig, part: str) -> int:
    return len(SEED_PARTS) * config.seed + SEED_PARTS.index(part)
