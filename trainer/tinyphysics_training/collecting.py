"""Whole episodes as rollouts: every route from the start of its control window to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..distributed.process_group import LOCAL, ProcessGroup
from ..envs.tinyphysics import OBS_SIZE
from ..envs.tinyphysics.constants import (
    CONTEXT_STEPS,
    CONTROL_START,
    COST_END,
    LATACCEL_COST_WEIGHT,
    PLAN_STEPS,
    STEP_S,
)
from ..envs.tinyphysics.engines.engine import Engine
from ..envs.tinyphysics.observations import Observer
from ..envs.tinyphysics.routes import Routes
from ..envs.tinyphysics.simulator import Simulation
from ..machine.staged_values import Event, SpanTimer, event_maker
from ..machine.values import State
from ..memory.rollout import Rollout
from ..policies.actor_critic import ActorCritic
from ..policies.draws import set_generator
from .steering import beta_mean, steering

EPISODE_STEPS = COST_END - CONTROL_START


class EpisodeCollector:
    """Drives random routes, each several times, with actions drawn from the policy."""

    loops: Sequence[Any] = ()
    resumes_exactly = True

    def __init__(
        self,
        engine: Engine,
        routes: Routes,
        policy: ActorCritic,
        num_envs: int,
        rollouts_per_route: int,
        seed: int,
        tick: Callable[[], None] = lambda: None,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        """`tick` is called after every step. This rank steps its part of the `num_envs`
        environments of all `ranks`.
        """
        self._engine, self._routes, self._policy = engine, routes, policy
        self._make_event = event_maker(engine.device)
        self._spans = SpanTimer(self._make_event)
        self._ranks, self._all_envs, self._num_envs = ranks, num_envs, len(ranks.my_rows(num_envs))
        self._rollouts_per_route = rollouts_per_route
        self._seed, self._generator = seed, torch.Generator(engine.device).manual_seed(seed)
        self._num_collected = 0
        self._tick = tick
        self.env_steps_under_way = 0
        self.details: dict[str, float] = {}
        self.rollout = Rollout.empty(
            OBS_SIZE, EPISODE_STEPS, self._num_envs, policy, num_final_obs=0, device=engine.device
        )
        self.rollout.terminated[-1] = True

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """One episode in every environment; returns the rollout, whose memory is reused."""
        start = self._make_event()
        start.record()
        simulation = self._new_simulation()
        observer = Observer(simulation, torch.float32)
        for step in range(CONTEXT_STEPS, CONTROL_START):
            # The challenge calls controllers here too, and drops what they answer.
            obs = self.rollout.obs[0]
            with self._spans.phase("controller"):
                observer.observe(step, obs)
                mean = beta_mean(self._policy.outputs(obs))
                observer.note(step, steering(mean, observer.actions[:, step - 1]))
        for t in range(EPISODE_STEPS):
            step = CONTROL_START + t
            with self._spans.phase("controller"):
                steers = self._steers(observer, t, step)
            simulation.act(step, steers)
            with self._spans.phase("inference"):
                simulation.advance(step)
            self.env_steps_under_way += self._num_envs
            self._tick()
        rollout = self.rollout
        rollout.obs[-1] = rollout.obs[-2]  # episodes have ended: it is never used
        rollout.rewards.copy_(rewards(simulation))
        costs = simulation.trajectories().costs
        sums = torch.stack([costs.total, costs.lataccel, costs.jerk]).sum(1)
        means = self._ranks.sum(sums) / self._all_envs
        named = zip(("cost/total", "cost/lataccel", "cost/jerk"), means.tolist(), strict=True)
        self.details = {**dict(named), **self._times(start)}
        self._num_collected += 1
        self.env_steps_under_way = 0
        return rollout

    def _times(self, start: Event) -> dict[str, float]:
        """Timing metrics of the collection that began at `start`; waits for the device."""
        end = self._make_event()
        end.record()
        end.synchronize()
        times = {"time/inference_s": 0.0, "time/controller_s": 0.0}
        for span in self._spans.take():
            times[f"time/{span.phase}_s"] += span.start.elapsed_time(span.end) / 1000
        return {**times, "speed/route_ms": start.elapsed_time(end) / self._all_envs}

    def _steers(self, observer: Observer, t: int, step: int) -> Tensor:
        rollout, policy = self.rollout, self._policy
        observer.observe(step, rollout.obs[t])
        noise = self._ranks.my_slice(policy.noise((self._all_envs,), self._generator))
        actions, log_probs = policy.act(rollout.obs[t], noise)
        rollout.remember(t, actions, log_probs)
        steers = steering(actions.squeeze(-1), observer.actions[:, step - 1])
        observer.note(step, steers)
        return steers

    def _new_simulation(self) -> Simulation:
        """This rank's part of all routes and draws; copies of a route are neighbours."""
        num_routes = self._all_envs // self._rollouts_per_route
        random: Any = {"generator": self._generator, "device": self._engine.device}
        order = torch.randperm(len(self._routes), **random).cpu().numpy()
        chosen = np.repeat(np.resize(order, num_routes), self._rollouts_per_route)
        routes = self._routes.at(self._ranks.my_slice(torch.from_numpy(chosen)).numpy())
        draws = torch.rand(COST_END, self._all_envs, dtype=torch.float64, **random)
        return Simulation(self._engine, first_rows(routes), self._ranks.my_slice(draws, 1))

    def take_notices(self) -> Sequence[str]:
        """Episodes give no notices."""
        return ()

    def take_episode_totals(self) -> Tensor:
        """Count, summed return and summed length of the rollout's episodes."""
        rewards = self.rollout.rewards
        return torch.tensor(
            [self._num_envs, float(rewards.sum()), rewards.numel()], dtype=torch.float64
        )

    def state_dict(self) -> State:
        """Everything the next collection depends on, on this device or another."""
        return {"generator": self._generator.get_state(), "num_collected": self._num_collected}

    def load_state_dict(self, state: State) -> None:
        self._num_collected = int(state.get("num_collected", 0))
        set_generator(self._generator, state, self._seed, self._num_collected)

    def close(self) -> None:
        pass


def first_rows(routes: Routes) -> Routes:
    """The rows of routes that episodes and plans use: all of one length, so none is reordered."""
    rows = routes.rows[:, : COST_END + PLAN_STEPS]
    return Routes(routes.names, rows, np.full(len(routes), rows.shape[1]))


def rewards(simulation: Simulation) -> Tensor:
    """Rewards [400, N] float32: the negated share of each step in 400 times the total cost.

    Costs are of the lataccel after the step. The first step has no jerk cost.
    """
    targets = simulation.targets[CONTROL_START:COST_END]
    lataccels = simulation.lataccels[CONTROL_START:COST_END]
    costs = 100 * LATACCEL_COST_WEIGHT * (targets - lataccels) ** 2
    costs[1:] += 100 * (lataccels.diff(dim=0) / STEP_S) ** 2
    lost: Tensor = -costs.float()
    return lost
