"""Steering from a policy's action in (0, 1), and policies as controllers."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from ..envs.tinyphysics import OBS_SIZE
from ..envs.tinyphysics.constants import MAX_STEER
from ..envs.tinyphysics.observations import Observer
from ..envs.tinyphysics.simulator import Simulation
from ..policies.actor_critic import ActorCritic

MAX_CHANGE = 0.25  # of the steering in one step


def steering(actions: Tensor, previous: Tensor) -> Tensor:
    """previous + 0.25 * (2 * action - 1) within the limits, [n] float64, for actions in (0, 1)."""
    change = MAX_CHANGE * (2 * actions.double() - 1)
    return (previous + change).clamp(-MAX_STEER, MAX_STEER)


def action_towards(steers: Tensor, previous: Tensor) -> Tensor:
    """The action in [0, 1] whose steering comes nearest to `steers`."""
    return (((steers - previous) / MAX_CHANGE).clamp(-1, 1) + 1) / 2


class TrainedPolicy:
    """Steers with the policy's mean.

    Everything is float64: the exported controller computes the same with NumPy, and differences of
    rounding are then far below what changes a token of the model.
    """

    def __init__(self, policy: ActorCritic) -> None:
        actor = nn.Sequential(policy.normalizer, policy.actor)
        self._actor = copy.deepcopy(actor).double().requires_grad_(False)

    def begin(self, simulation: Simulation) -> None:
        self._actor.to(simulation.device)
        self._observer = Observer(simulation, torch.float64)
        self._obs = torch.empty(
            simulation.num_routes, OBS_SIZE, dtype=torch.float64, device=simulation.device
        )

    def actions(self, simulation: Simulation, step: int) -> Tensor:
        n = simulation.num_running(step)
        self._observer.observe(step, self._obs[:n])
        mean = beta_mean(self._actor(self._obs[:n]))
        steers = steering(mean, self._observer.actions[:n, step - 1])
        self._observer.note(step, steers)
        return steers


def beta_mean(outputs: Tensor) -> Tensor:
    """Mean [n] of the Beta distributions with alpha, beta = 1 + softplus(outputs [n, 2])."""
    alpha, beta = (1 + nn.functional.softplus(outputs.double())).unbind(-1)
    return alpha / (alpha + beta)
