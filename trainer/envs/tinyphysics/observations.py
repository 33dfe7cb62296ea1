"""Observations of a policy: 256 numbers within [-5, 5], from the inputs of the challenge's
controllers.

A controller of the challenge gets neither the logged steering nor the car's past before its first
call. Observations therefore use the policy's own actions, and zeros for the time before, so that
they are equal in training, in evaluation and in the challenge. Source: the published recipe that
reached 42.2 on the official routes.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from . import OBS_SIZE
from .constants import (
    CONTEXT_STEPS,
    MAX_LATACCEL_M_PER_S2,
    MAX_STEER,
    PLAN_STEPS,
    STEP_S,
)
from .simulator import Simulation

NUM_CORE = 16
NUM_PLANNED = PLAN_STEPS + 1  # the last row of the plan twice
assert NUM_CORE + 2 * CONTEXT_STEPS + 4 * NUM_PLANNED == OBS_SIZE
CLIP = 5.0

MAX_CURVATURE_PER_M = 0.02
MAX_SPEED_M_PER_S = 40.0
MAX_ACCELERATION_M_PER_S2 = 4.0
MAX_ROLL_LATACCEL_M_PER_S2 = 2.0
FRICTION_M_PER_S2 = 7.0

_HISTORIES = slice(NUM_CORE, NUM_CORE + 2 * CONTEXT_STEPS)


class Observer:
    """Observations of a simulation's routes, from histories that live on its device.

    `actions` [N, T] are those of the policy; `note` records them.
    """

    def __init__(self, simulation: Simulation, dtype: torch.dtype) -> None:
        self._simulation = simulation
        shape = (simulation.num_routes, len(simulation.targets))
        self.actions = torch.zeros(shape, dtype=torch.float64, device=simulation.device)
        self._lataccels = torch.zeros_like(self.actions)
        self._errors = torch.zeros_like(self.actions)
        plans = (
            simulation.targets / MAX_LATACCEL_M_PER_S2,
            simulation.roll_lataccels / MAX_ROLL_LATACCEL_M_PER_S2,
            simulation.v_egos / MAX_SPEED_M_PER_S,
            simulation.a_egos / MAX_ACCELERATION_M_PER_S2,
        )
        # The last row goes on, so that every plan is a slice.
        self._plans = [
            torch.cat([plan, plan[-1:].expand(NUM_PLANNED, -1)]).T.to(dtype).contiguous()
            for plan in plans
        ]

    def observe(self, step: int, out: Tensor) -> None:
        """Write the observations of the n running routes at `step` into `out` [n, 256]."""
        n = len(out)
        simulation = self._simulation
        current = simulation.lataccels[step - 1, :n]
        target = simulation.targets[step, :n]
        self._lataccels[:n, step - 1] = current
        self._errors[:n, step] = target - current
        past = slice(step - CONTEXT_STEPS, step)
        out[:, :NUM_CORE] = torch.stack(self._core(step, n, target, current), 1)
        histories = out[:, _HISTORIES]
        histories[:, :CONTEXT_STEPS] = self.actions[:n, past] / MAX_STEER
        histories[:, CONTEXT_STEPS:] = self._lataccels[:n, past] / MAX_LATACCEL_M_PER_S2
        for number, plan in enumerate(self._plans):
            start = _HISTORIES.stop + number * NUM_PLANNED
            rows = slice(step + 1, step + 1 + PLAN_STEPS)
            out[:, start : start + PLAN_STEPS] = plan[:n, rows]
            out[:, start + PLAN_STEPS] = plan[:n, step + PLAN_STEPS]
        out.clamp_(-CLIP, CLIP)

    def branched(self, branch: Simulation, first_row: int, running: int, copies: int) -> Observer:
        """An observer of a simulation's branch, whose rows begin at `first_row` of this one's."""
        observer: Observer = copy.copy(self)
        observer._simulation = branch
        rows = slice(first_row, first_row + len(branch.targets))
        for name in ("actions", "_lataccels", "_errors"):
            values = getattr(self, name)[:running, rows].repeat_interleave(copies, 0)
            setattr(observer, name, values)
        plan_rows = slice(first_row, first_row + len(branch.targets) + NUM_PLANNED)
        observer._plans = [
            plan[:running, plan_rows].repeat_interleave(copies, 0) for plan in self._plans
        ]
        return observer

    def note(self, step: int, actions: Tensor) -> None:
        """Remember the policy's own actions [n] at `step`."""
        self.actions[: len(actions), step] = actions

    def _core(self, step: int, n: int, target: Tensor, current: Tensor) -> list[Tensor]:
        simulation = self._simulation
        roll, v, a = (
            x[step, :n] for x in (simulation.roll_lataccels, simulation.v_egos, simulation.a_egos)
        )
        last, before = self.actions[:n, step - 1], self.actions[:n, step - 2]
        scale = MAX_CURVATURE_PER_M * (v * v).clamp(min=1.0)
        curvature, current_curvature = (target - roll) / scale, (current - roll) / scale
        errors = self._errors[:n, step - CONTEXT_STEPS + 1 : step + 1]
        following = simulation.targets[min(step + 1, len(simulation.targets) - 1), :n]
        friction = (current**2 + a**2).sqrt() / FRICTION_M_PER_S2
        return [
            target / MAX_LATACCEL_M_PER_S2,
            current / MAX_LATACCEL_M_PER_S2,
            (target - current) / MAX_LATACCEL_M_PER_S2,
            curvature,
            current_curvature,
            curvature - current_curvature,
            v / MAX_SPEED_M_PER_S,
            a / MAX_ACCELERATION_M_PER_S2,
            roll / MAX_ROLL_LATACCEL_M_PER_S2,
            last / MAX_STEER,
            errors.sum(1) * (STEP_S / CONTEXT_STEPS) / MAX_LATACCEL_M_PER_S2,
            (following - target) / STEP_S / MAX_LATACCEL_M_PER_S2,
            (current - self._lataccels[:n, step - 2]) / STEP_S / MAX_LATACCEL_M_PER_S2,
            (last - before) / STEP_S / MAX_STEER,
            friction,
            (1 - friction).clamp(min=0.0),
        ]
