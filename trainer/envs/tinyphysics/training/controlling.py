"""Controllers by what a user calls them, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from .....shared.errors import UsageError
from .....shared.find_runs import find_run
from ....networks.actor_critic import ActorCritic
from ....trained_policy import load_trained
from ... import LEARNED_ENV_NAMES
from ..constants import COST_END
from ..controllers import Pid, Zero
from ..draws import reference_draws
from ..engines.engine import Engine
from ..python_controller import load_python_controller
from ..routes import Routes, chunks
from ..simulator import Controller, Trajectories, simulate
from .look_ahead import LookAhead
from .steering import TrainedPolicy

NAMED: dict[str, Callable[[], Controller]] = {"pid": Pid, "zero": Zero}
CHUNK = 5000  # routes in memory at a time


@dataclass(frozen=True)
class Driven:
    """What a controller did on N routes: costs [N], and the lataccels of the first few as far as
    they were driven.
    """

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
        raise UsageError(f"--look-ahead is for a trained policy; '{name}' is none")
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
        raise UsageError(
            f"controller '{run_name}' is none of pid, zero, FILE.py: {error}"
        ) from None
    trained = load_trained(run)
    if trained.config.env not in LEARNED_ENV_NAMES:
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
    """Costs along routes with the reference's draws; `tick` is told of every step's routes."""
    start = time.perf_counter()
    parts: list[Trajectories] = []
    examples: list[NDArray[np.float64]] = []
    for part in chunks(routes, CHUNK):
        draws = reference_draws(part.names, int(part.num_rows.max()))
        driven = simulate(engine, part, controller, draws, tick=partial(_told, tick, len(part)))
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


def _told(tick: Callable[[int], None], num_routes: int, step: int) -> None:
    tick(num_routes)
