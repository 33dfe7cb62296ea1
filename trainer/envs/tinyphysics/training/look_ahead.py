"""Trying a few actions in the model before taking one."""

from __future__ import annotations

import torch
from torch import Tensor

from ....networks.actor_critic import ActorCritic
from .. import OBS_SIZE
from ..constants import CONTROL_START, LATACCEL_COST_WEIGHT, STEP_S
from ..simulator import Simulation
from .steering import TrainedPolicy, beta_mean, steering

NUM_SAMPLES = 16
NUM_STEPS = 5
SEED = 0


class LookAhead(TrainedPolicy):
    """The first of 16 actions whose next 5 steps cost least; the policy's mean is one of them.

    After its first action each branch goes on with the policy's mean, and all branches of a route
    meet the same random numbers, which are not the episode's own.
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
        """What the next steps cost [n, 16], a branch for each of `steers`."""
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
