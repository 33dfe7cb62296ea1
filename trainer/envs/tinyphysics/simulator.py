"""Episodes along many routes in lockstep, equal to the reference step by step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .constants import (
    CONTEXT_STEPS,
    CONTROL_START,
    COST_END,
    LATACCEL_COST_WEIGHT,
    MAX_LATACCEL_CHANGE_M_PER_S2,
    MAX_STEER,
    PLAN_STEPS,
    STATE_SIZE,
    STEP_S,
)
from .engines.engine import Engine
from .routes import Routes
from .tokens import Tokenizer

SERIES = ("targets", "roll_lataccels", "v_egos", "a_egos", "steers", "actions", "lataccels")


class Controller(Protocol):
    """Steers all routes of a simulation at once."""

    def begin(self, simulation: Simulation) -> None:
        """Called once before the first step."""

    def actions(self, simulation: Simulation, step: int) -> Tensor:
        """Steering [n] float64 at `step`, for the n routes that still run: the first n columns."""


@dataclass(frozen=True)
class Costs:
    """Costs of each episode, [N] float64 on the processor."""

    lataccel: Tensor
    jerk: Tensor

    @property
    def total(self) -> Tensor:
        return LATACCEL_COST_WEIGHT * self.lataccel + self.jerk


@dataclass(frozen=True)
class Trajectories:
    """Episodes along N routes, in the order in which these were given.

    `actions` and `lataccels` [T, N] float64; rows after a route's end have no meaning.
    """

    actions: Tensor
    lataccels: Tensor
    costs: Costs


class Simulation:
    """The histories of N episodes, on the engine's device, and the step that extends them.

    All series are [T, N] float64: the routes' `targets`, `roll_lataccels`, `v_egos`, `a_egos` and
    `steers`, and the histories `actions` and `lataccels`. Routes stand in the order of their
    lengths, the longest first, so that those still running are always the first `num_running`.
    """

    def __init__(self, engine: Engine, routes: Routes, draws: Tensor | NDArray[np.float64]) -> None:
        """`draws` [T, N] holds the uniform number of each step of each route."""
        self.engine, self.device = engine, engine.device
        self.control_start = CONTROL_START
        order = np.argsort(-routes.num_rows, kind="stable")
        self.order = torch.from_numpy(order)
        self._lengths = routes.num_rows[order]
        self.num_routes = len(routes)
        self.num_rows = torch.from_numpy(self._lengths).to(self.device)
        series = torch.from_numpy(np.ascontiguousarray(routes.rows[order].transpose(2, 1, 0)))
        (self.targets, self.roll_lataccels, self.v_egos, self.a_egos, self.steers) = series.to(
            self.device
        )
        self._draws = torch.as_tensor(draws)[: len(series[0])].to(self.device)[
            :, self.order.to(self.device)
        ]
        self._tokenizer = Tokenizer(self.device)
        steers = self.steers
        self.actions = torch.cat(
            [steers[:CONTEXT_STEPS], steers[CONTEXT_STEPS:].clamp(-MAX_STEER, MAX_STEER)]
        )
        # Before the control window the car follows its target.
        self.lataccels = self.targets.clone()
        # The model's inputs for all steps, an episode's side by side: a window is a slice.
        shape = (self.num_routes, len(self.targets))
        self._states = torch.empty((*shape, STATE_SIZE), dtype=torch.float32, device=self.device)
        self._tokens = torch.empty(shape, dtype=torch.int64, device=self.device)
        for place, values in enumerate(
            (self.actions, self.roll_lataccels, self.v_egos, self.a_egos)
        ):
            self._states[:, :, place] = values.T
        self._tokens[:] = self._tokenizer.encode(self.lataccels.T)

    def num_running(self, step: int) -> int:
        """How many routes reach `step`."""
        return int(np.searchsorted(-self._lengths, -step))

    def last_step(self) -> int:
        """The step after the last that is simulated."""
        return min(int(self._lengths[0]), COST_END)

    def next_tokens(self, step: int) -> Tensor:
        """Tokens [n] that the model draws at `step` from the histories as they are.

        It sees 20 states, the last of them that of `step`, and the 20 tokens before `step`.
        """
        running = self.num_running(step)
        states = self._states[:running, step - CONTEXT_STEPS + 1 : step + 1]
        tokens = self._tokens[:running, step - CONTEXT_STEPS : step]
        return self.engine.next_tokens(states, tokens, self._draws[step, :running])

    def act(self, step: int, actions: Tensor) -> None:
        """Take the controller's actions [n] at `step`; before the control window drop them."""
        running = len(actions)
        if step >= self.control_start:
            self.actions[step, :running] = actions.clamp(-MAX_STEER, MAX_STEER)
            self._states[:running, step, 0] = self.actions[step, :running].float()

    def advance(self, step: int) -> None:
        """Append what the model draws at `step` of the control window to the histories."""
        tokens = self.next_tokens(step)
        running = len(tokens)
        current = self.lataccels[step - 1, :running]
        change = MAX_LATACCEL_CHANGE_M_PER_S2
        lataccels = torch.minimum(
            torch.maximum(self._tokenizer.decode(tokens), current - change), current + change
        )
        self.lataccels[step, :running] = lataccels
        self._tokens[:running, step] = self._tokenizer.encode(lataccels)

    def follow(self, actions: Tensor, lataccels: Tensor) -> None:
        """Replace the histories by recorded ones [T, N], in the order the routes were given."""
        order = self.order.to(self.device)
        self.actions[:] = actions.to(self.device)[:, order]
        self.lataccels[:] = lataccels.to(self.device)[:, order]
        self._states[:, :, 0] = self.actions.T
        self._tokens[:] = self._tokenizer.encode(self.lataccels.T)

    def branched(
        self, step: int, running: int, copies: int, num_steps: int, draws: Tensor
    ) -> tuple[Simulation, int]:
        """Every running route `copies` times, side by side, about to go on from `step`.

        A branch has the rows that matter to the next `num_steps`, for which `draws`
        [num_steps, n] are the uniform numbers of all copies. Returns it and its own number for
        `step`.
        """
        start = 2 * CONTEXT_STEPS
        rows = slice(step - start, step + num_steps + PLAN_STEPS + 1)
        branch: Simulation = copy.copy(self)
        for name in SERIES:
            values = getattr(self, name)[rows, :running].repeat_interleave(copies, 1)
            setattr(branch, name, values)
        for name in ("_states", "_tokens"):
            setattr(branch, name, getattr(self, name)[:running, rows].repeat_interleave(copies, 0))
        branch.control_start = 0
        branch.num_routes = running * copies
        branch._lengths = np.full(branch.num_routes, len(branch.targets))
        branch.num_rows = torch.from_numpy(branch._lengths).to(self.device)
        branch.order = torch.arange(branch.num_routes)
        branch._draws = torch.zeros_like(branch.targets)
        end = min(start + num_steps, len(branch.targets))
        numbers = draws[: end - start].to(self.device)
        branch._draws[start:end] = numbers.repeat_interleave(copies, 1)
        return branch, start

    def trajectories(self) -> Trajectories:
        """The episodes so far, in the order in which the routes were given."""
        back = torch.argsort(self.order)
        costs = episode_costs(self.targets, self.lataccels, self.num_rows)
        return Trajectories(
            self.actions.cpu()[:, back],
            self.lataccels.cpu()[:, back],
            Costs(costs.lataccel[back], costs.jerk[back]),
        )


@torch.inference_mode()
def simulate(
    engine: Engine,
    routes: Routes,
    controller: Controller,
    draws: Tensor | NDArray[np.float64],
    *,
    tick: Callable[[int], None] = lambda _: None,
) -> Trajectories:
    """Drive every route from its start to the end of the cost window.

    The controller is called from the first simulated step on, because it may have a memory, the
    model in the control window alone: before it the log decides. `tick` is called after every step.
    """
    simulation = Simulation(engine, routes, draws)
    controller.begin(simulation)
    for step in range(CONTEXT_STEPS, simulation.last_step()):
        simulation.act(step, controller.actions(simulation, step))
        if step >= CONTROL_START:
            simulation.advance(step)
        tick(step)
    return simulation.trajectories()


def episode_costs(targets: Tensor, lataccels: Tensor, num_rows: Tensor) -> Costs:
    """Costs of `lataccels` against `targets`, both [T, N], in the cost window of each route.

        lataccel = 100 * mean((target - current)^2)
        jerk     = 100 * mean((diff(current) / 0.1)^2)

    `num_rows` [N] are the lengths of the routes: later rows do not count. Where the window has one
    row the jerk cost is 0.
    """
    targets, lataccels = targets[CONTROL_START:COST_END], lataccels[CONTROL_START:COST_END]
    window = (num_rows - CONTROL_START).clamp(max=len(targets))
    row = torch.arange(len(targets), device=targets.device).unsqueeze(1)
    errors = torch.where(row < window, (targets - lataccels) ** 2, 0.0)
    jerks = torch.where(row[1:] < window, (lataccels.diff(dim=0) / STEP_S) ** 2, 0.0)
    return Costs(
        (100 * errors.sum(0) / window).cpu(),
        (100 * jerks.sum(0) / (window - 1).clamp(min=1)).cpu(),
    )
