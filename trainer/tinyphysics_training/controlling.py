"""Makes the controllers that the command line names, and measures their costs on routes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...shared.errors import UsageError
from ...shared.runs.find_runs import find_run
from ..envs.hosts import host_of
from ..envs.tinyphysics import OBS_SIZE
from ..envs.tinyphysics.constants import CONTROL_START, COST_END, LATACCEL_COST_WEIGHT, STEP_S
from ..envs.tinyphysics.controllers import Pid, Zero
from ..envs.tinyphysics.draws import reference_draws
from ..envs.tinyphysics.engines.engine import Engine
from ..envs.tinyphysics.python_controller import load_python_controller
from ..envs.tinyphysics.routes import Routes, chunks
from ..envs.tinyphysics.simulator import Controller, Simulation, Trajectories, simulate
from ..experiment.trained_policy import load_trained
from ..policies.actor_critic import ActorCritic
from .steering import TrainedPolicy, beta_mean, steering

NUM_SAMPLES = 16
NUM_STEPS = 5
SEED = 0


class LookAhead(TrainedPolicy):
    """Takes the first of 16 actions whose next 5 steps cost least; one is the policy's mean.

    After its first action a branch follows the policy's mean. All branches of a route have the same
    random numbers, which differ from the episode's.
    """

    def __init__(self, policy: ActorCritic) -> None:
        super().__init__(policy)
        self._distribution = policy.distribution

    def begin(self, simulation: Simulation) -> None:
        super().begin(simulation)
        self._generator = torch.Generator().manual_seed(SEED)

    def actions(self, simulation: Simulation, step: int) -> Tensor:
        if step < CONTROL_START:
            return super().actions(simulation, step)
        n = simulation.num_running(step)
        self._observer.observe(step, self._obs[:n])
        outputs = self._actor(self._obs[:n])
        candidates = self._candidates(outputs)
        previous = self._observer.actions[:n, step - 1]
        steers = steering(candidates, previous.unsqueeze(1))
        costs = self._branch_costs(simulation, step, steers)
        chosen = steers.gather(1, costs.argmin(1, keepdim=True)).squeeze(1)
        self._observer.note(step, chosen)
        return chosen

    def _candidates(self, outputs: Tensor) -> Tensor:
        """Actions in (0, 1) [n, 16], the mean first."""
        many = outputs.repeat_interleave(NUM_SAMPLES, 0)
        noise = self._distribution.noise((len(many),), self._generator).to(outputs.device)
        candidates = self._distribution.sample(many, noise).double().view(-1, NUM_SAMPLES)
        candidates[:, 0] = beta_mean(outputs)
        return candidates

    def _branch_costs(self, simulation: Simulation, step: int, steers: Tensor) -> Tensor:
        """Costs [n, 16] of the next steps, in one branch for each of `steers`."""
        n = len(steers)
        draws = torch.rand(NUM_STEPS, n, dtype=torch.float64, generator=self._generator)
        branch, start = simulation.branched(step, n, NUM_SAMPLES, NUM_STEPS, draws)
        observer = self._observer.branched(branch, step - start, n, NUM_SAMPLES)
        obs = torch.empty(
            branch.num_routes, OBS_SIZE, dtype=torch.float64, device=simulation.device
        )
        last = branch.lataccels[start - 1]
        costs = torch.zeros_like(last)
        actions = steers.flatten()
        for now in range(start, min(start + NUM_STEPS, len(branch.targets))):
            if now > start:
                observer.observe(now, obs)
                mean = beta_mean(self._actor(obs))
                actions = steering(mean, observer.actions[:, now - 1])
            observer.note(now, actions)
            branch.act(now, actions)
            branch.advance(now)
            current = branch.lataccels[now]
            error, jerk = branch.targets[now] - current, (current - last) / STEP_S
            costs += LATACCEL_COST_WEIGHT * error**2 + jerk**2
            last = current
        return costs.view(n, NUM_SAMPLES)


NAMED: dict[str, Callable[[], Controller]] = {"pid": Pid, "zero": Zero}
CHUNK = 5000  # routes in memory at a time


@dataclass(frozen=True)
class Driven:
    """Costs [N] of a controller on N routes, and its lataccels on the first few of them."""

    names: tuple[str, ...]
    lataccel_costs: NDArray[np.float64]
    jerk_costs: NDArray[np.float64]
    total_costs: NDArray[np.float64]
    examples: list[NDArray[np.float64]]
    elapsed_s: float


def make_controller(name: str, look_ahead: bool = False) -> Controller:
    """`pid`, `zero`, a Python file of the challenge, or a run's trained policy.

    Raises UsageError.
    """
    is_file = name.endswith(".py")
    if look_ahead and (is_file or name in NAMED):
        raise UsageError(f"--look-ahead needs a trained policy, and '{name}' is not one")
    if name in NAMED:
        return NAMED[name]()
    if is_file:
        return load_python_controller(Path(name))
    policy = load_policy(name)
    return LookAhead(policy) if look_ahead else TrainedPolicy(policy)


def load_policy(run_name: str) -> ActorCritic:
    """The newest checkpoint's policy of a run on TinyPhysics. Raises UsageError."""
    try:
        run = find_run(run_name)
    except UsageError as error:
        raise UsageError(f"controller '{run_name}' is not pid, zero or FILE.py: {error}") from None
    trained = load_trained(run)
    if host_of(trained.config.env).name != "tinyphysics":
        raise UsageError(
            f"{run.id} learned {trained.config.env}; a controller has learned tinyphysics"
        )
    policy = trained.policy
    assert isinstance(policy, ActorCritic)
    return policy


def drive(
    engine: Engine,
    routes: Routes,
    controller: Controller,
    num_examples: int,
    tick: Callable[[int], None],
) -> Driven:
    """Costs along routes with the reference's draws; `tick` gets the routes of every step."""
    start = time.perf_counter()
    parts: list[Trajectories] = []
    examples: list[NDArray[np.float64]] = []
    for part in chunks(routes, CHUNK):
        draws = reference_draws(part.names, int(part.num_rows.max()))
        driven = simulate(engine, part, controller, draws, tick=partial(_tick, tick, len(part)))
        for route in range(min(num_examples - len(examples), len(part))):
            end = min(int(part.num_rows[route]), COST_END)
            examples.append(driven.lataccels[:end, route].numpy())
        parts.append(driven)
    lataccel, jerk, total = (
        torch.cat([getattr(part.costs, kind) for part in parts]).numpy()
        for kind in ("lataccel", "jerk", "total")
    )
    elapsed_s = time.perf_counter() - start
    return Driven(routes.names, lataccel, jerk, total, examples, elapsed_s)


def _tick(tick: Callable[[int], None], num_routes: int, step: int) -> None:
    tick(num_routes)
