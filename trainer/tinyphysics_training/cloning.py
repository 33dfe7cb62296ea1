"""Behaviour cloning: fit a policy to the steering of the logs or of a controller."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..algorithms.on_policy import flat_gradient
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.reductions import mean_gradient
from ..envs.tinyphysics import OBS_SIZE
from ..envs.tinyphysics.constants import CONTEXT_STEPS, CONTROL_START
from ..envs.tinyphysics.controllers import Pid
from ..envs.tinyphysics.engines.engine import Engine
from ..envs.tinyphysics.observations import Observer
from ..envs.tinyphysics.routes import Routes
from ..envs.tinyphysics.sections import CloningConfig
from ..envs.tinyphysics.simulator import Simulation, simulate
from ..policies.actor_critic import ActorCritic
from .steering import action_towards

MAX_LOG_PROB = 5.0  # an action at the very edge has a density without bound
EDGE = 1e-3  # actions keep this far from 0 and 1
MINIBATCH_SIZE = 2048  # samples of an AdamW step
MAX_GRAD_NORM = 0.5
HISTORY_NOISE = 0.1  # standard deviation of the shifts of the history, in steering units


class Demonstrations(NamedTuple):
    """Observations [B, 256] and actions [B, 1] to imitate."""

    obs: Tensor
    actions: Tensor


def demonstrations(
    engine: Engine, routes: Routes, config: CloningConfig, generator: torch.Generator
) -> Demonstrations:
    """The logs' steering at steps 20 to 99, or the PID's at all steps.

    Every step comes `copies` times. All but the first shift the steering history by a random offset
    and show the way back: a policy's own history is never quite that of its teacher.
    """
    draws = torch.rand(routes.rows.shape[1], len(routes), dtype=torch.float64, generator=generator)
    simulation = Simulation(engine, routes, draws)
    last = CONTROL_START
    if config.source == "pid":
        driven = simulate(engine, routes, Pid(), draws)
        simulation.follow(driven.actions, driven.lataccels)
        last = simulation.last_step()
    steps = range(CONTEXT_STEPS, last)
    noises = [0.0] + [HISTORY_NOISE] * (config.copies - 1)
    copies = [_copy(simulation, steps, noise, generator) for noise in noises]
    obs, actions = zip(*copies, strict=True)
    return Demonstrations(torch.cat(obs), torch.cat(actions))


def _copy(
    simulation: Simulation, steps: range, noise: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    num_routes, device = simulation.num_routes, simulation.device
    observer = Observer(simulation, torch.float32)
    # Offsets that wander slowly, so that differences of the history stay as they are.
    steps_of_noise = (
        noise * 0.2 * torch.randn(len(simulation.targets), num_routes, generator=generator)
    )
    offsets = torch.zeros(num_routes)
    shifted = []
    for row in steps_of_noise:
        offsets = 0.95 * offsets + row
        shifted.append(offsets)
    actions = simulation.actions + torch.stack(shifted).to(device, torch.float64)
    observer.actions[:] = actions.T
    obs = torch.empty(len(steps), num_routes, OBS_SIZE, device=device)
    for out, step in zip(obs, steps, strict=True):
        observer.observe(step, out)
    rows = slice(steps.start, steps.stop)
    previous = actions[steps.start - 1 : steps.stop - 1]
    wanted = action_towards(simulation.actions[rows], previous).float().clamp(EDGE, 1 - EDGE)
    return obs.flatten(0, 1), wanted.reshape(-1, 1)


def clone(
    policy: ActorCritic,
    shown: Demonstrations,
    config: CloningConfig,
    generator: torch.Generator,
    tick: Callable[[], None],
    ranks: ProcessGroup = LOCAL,
) -> float:
    """Fit the actor by negative log-likelihood; returns the mean of the last epoch, in nats. All
    `ranks` have the same demonstrations; each rank learns from its part of every minibatch.

    A squared error would never narrow the distribution.
    """
    parameters = list(policy.actor.parameters())
    like = torch.cat([parameter.detach().flatten() for parameter in parameters])
    optimizer = torch.optim.AdamW(parameters, config.learning_rate)
    num_minibatches = max(1, math.ceil(len(shown.obs) / MINIBATCH_SIZE))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, config.num_epochs * num_minibatches
    )
    mean_loss = math.nan
    for _ in range(config.num_epochs):
        losses = []
        order = torch.randperm(len(shown.obs), generator=generator).to(shown.obs.device)
        for index in order.chunk(num_minibatches):
            own = index.tensor_split(ranks.size)[ranks.rank]
            work = partial(_gradient_and_loss, policy, parameters, shown, own)
            gradient, loss = mean_gradient(ranks, len(own), work, like, 1)
            set_gradients(parameters, gradient)
            torch.nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
            optimizer.step()
            schedule.step()
            losses.append(loss)
            tick()
        mean_loss = float(torch.stack(losses).mean())
    return mean_loss


def _gradient_and_loss(
    policy: ActorCritic, parameters: list[Any], shown: Demonstrations, index: Tensor
) -> tuple[Tensor, Tensor]:
    """The derivative [P] of the mean loss of the samples `index`, and the loss [1]."""
    outputs = policy.outputs(shown.obs[index])
    log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, shown.actions[index])
    loss = -log_probs.clamp(max=MAX_LOG_PROB).mean()
    return flat_gradient(loss, parameters), loss.detach().unsqueeze(0)


def set_gradients(parameters: Sequence[Any], flat: Tensor) -> None:
    """Set the gradients of `parameters` to their parts of `flat` [P]."""
    parts = torch.split(flat, [parameter.numel() for parameter in parameters])
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.grad = part.view_as(parameter)
