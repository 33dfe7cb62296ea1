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
from ..machine.staged_values import SpanTimer, event_maker
from ..machine.values import State
from ..memory.rollout import Rollout
from ..policies.actor_critic import ActorCritic
from ..policies.draws import set_generator
from .steering import beta_mean, steering

EPISODE_STEPS = COST_END - CONTROL_START


INFERENCE, CONTROLLER = "inference", "controller"


class TimedEngine:
    """An engine whose calls are timed where it computes."""

    def __init__(self, engine: Engine, spans: SpanTimer) -> None:
        self._engine, self._spans = engine, spans

    def next_tokens(self, *inputs: Any) -> Tensor:
        with self._spans.phase(INFERENCE):
            return self._engine.next_tokens(*inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


class CollectionTimer:
    """Times one collection after the other."""

    def __init__(self, engine: Engine) -> None:
        self._make_event = event_maker(engine.device)
        self.spans = SpanTimer(self._make_event)
        self.engine: Any = TimedEngine(engine, self.spans)
        self._start = self._make_event()

    def begin(self) -> None:
        self.spans.take()
        self._start = self._make_event()
        self._start.record()

    def take(self, num_routes: int) -> dict[str, float]:
        """The metrics of the collection that was begun; waits for the device."""
        end = self._make_event()
        end.record()
        end.synchronize()
        seconds = {INFERENCE: 0.0, CONTROLLER: 0.0}
        for span in self.spans.take():
            seconds[span.phase] += span.start.elapsed_time(span.end) / 1000
        times = {f"time/{name}_s": value for name, value in seconds.items()}
        return {**times, "speed/route_ms": self._start.elapsed_time(end) / num_routes}


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
        """`tick` is called after every step. Of the `num_envs` environments those are here that are
        this rank's.
        """
        self._timer = CollectionTimer(engine)
        self._engine, self._routes, self._policy = self._timer.engine, routes, policy
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
        self._timer.begin()
        simulation = self._new_simulation()
        observer = Observer(simulation, torch.float32)
        for step in range(CONTEXT_STEPS, CONTROL_START):
            # As in the challenge: the policy steers along, but nobody listens yet.
            obs = self.rollout.obs[0]
            with self._timer.spans.phase(CONTROLLER):
                observer.observe(step, obs)
                mean = beta_mean(self._policy.outputs(obs))
                observer.note(step, steering(mean, observer.actions[:, step - 1]))
        for t in range(EPISODE_STEPS):
            step = CONTROL_START + t
            self._step(simulation, observer, t, step)
            self.env_steps_under_way += self._num_envs
            self._tick()
        rollout = self.rollout
        rollout.obs[-1] = rollout.obs[-2]  # of a state that no longer counts
        rollout.rewards.copy_(rewards(simulation))
        costs = simulation.trajectories().costs
        each = torch.stack([costs.total, costs.lataccel, costs.jerk])
        means = self._ranks.sum(each.sum(1)) / self._all_envs
        named = zip(("cost/total", "cost/lataccel", "cost/jerk"), means.tolist(), strict=True)
        self.details = {**dict(named), **self._timer.take(self._all_envs)}
        self._num_collected += 1
        self.env_steps_under_way = 0
        return rollout

    def _step(self, simulation: Simulation, observer: Observer, t: int, step: int) -> None:
        with self._timer.spans.phase(CONTROLLER):
            steers = self._steers(observer, t, step)
        simulation.act(step, steers)
        simulation.advance(step)

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
        """Copies of a route stand side by side. What is drawn is drawn for all ranks."""
        num_routes = self._all_envs // self._rollouts_per_route
        random: Any = {"generator": self._generator, "device": self._engine.device}
        order = torch.randperm(len(self._routes), **random).cpu().numpy()
        chosen = np.repeat(np.resize(order, num_routes), self._rollouts_per_route)
        routes = self._routes.at(self._ranks.my_slice(torch.from_numpy(chosen)).numpy())
        draws = torch.rand(COST_END, self._all_envs, dtype=torch.float64, **random)
        return Simulation(self._engine, first_rows(routes), self._ranks.my_slice(draws, 1))

    def take_notices(self) -> Sequence[str]:
        """There is nothing that people should know of the episodes."""
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
    """Routes as far as an episode and its plans see, all of one length, so none is reordered."""
    rows = routes.rows[:, : COST_END + PLAN_STEPS]
    return Routes(routes.names, rows, np.full(len(routes), rows.shape[1]))


def rewards(simulation: Simulation) -> Tensor:
    """What each step costs, negated [400, N] float32: its share of 400 times the total cost.

    On the lataccel after the step; the first has no difference to one before it that counts.
    """
    targets = simulation.targets[CONTROL_START:COST_END]
    lataccels = simulation.lataccels[CONTROL_START:COST_END]
    costs = 100 * LATACCEL_COST_WEIGHT * (targets - lataccels) ** 2
    costs[1:] += 100 * (lataccels.diff(dim=0) / STEP_S) ** 2
    lost: Tensor = -costs.float()
    return lost
