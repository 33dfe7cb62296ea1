"""How many workers, and in how many groups: the fastest, by measurement."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...jit.streams import TRAINING
from ..spec import HostedSpec
from ..vector import Transitions
from .arrays import Array
from .dividing import WorkerPlan
from .hosted import HostedEnvs

MEASURE_S = 0.4  # for each candidate
LEAST_STEPS, MOST_S = 3, 10.0
# What workers must at least win over stepping here: they take cores, and memory.
LEAST_GAIN = 1.2
# Steps of all environments that take no longer here cannot be won back: waking a worker and waiting
# for its answer takes a good part of it.
NO_WORKERS_S = 100e-6

Act = Callable[[Array], Array]  # observations [B, D] to actions [B, ...]


class Measured(NamedTuple):
    """A candidate and the seconds that a step of all environments takes with it."""

    plan: WorkerPlan
    step_s: float


def measured(
    spec: HostedSpec, num_envs: int, pairs: Sequence[tuple[int, int]], act: Act
) -> list[Measured]:
    """How long steps take with each of the pairs, policy included, on environments of their own."""
    found: list[Measured] = []
    for num_workers, async_factor in pairs:
        if found and not found[0].plan.num_workers and found[0].step_s < NO_WORKERS_S:
            break
        plan = replace(spec.plan, num_workers=num_workers, async_factor=async_factor)
        with closing(HostedEnvs(replace(spec, plan=plan), num_envs, 0, TRAINING)) as envs:
            step_s = _step_s(envs, act)
        found.append(Measured(plan, step_s))
    return found


def chosen(found: Sequence[Measured]) -> WorkerPlan:
    """The fastest, though none here unless workers win enough."""
    best = min(found, key=lambda each: each.step_s)
    here = found[0]
    if not here.plan.num_workers and here.step_s < best.step_s * LEAST_GAIN:
        return here.plan
    return best.plan


def in_words(found: Sequence[Measured]) -> str:
    """The measurements and the choice, in one line."""
    took = ", ".join(f"{1000 * trial.step_s:.3g} ms {_name(trial.plan)}" for trial in found)
    return f"workers: {_name(chosen(found))} is chosen; a step of all environments takes {took}"


def _name(plan: WorkerPlan) -> str:
    if not plan.num_workers:
        return "without workers"
    groups = f" in {plan.async_factor} groups" if plan.async_factor > 1 else ""
    return f"with {plan.num_workers}{groups}"


def _step_s(envs: HostedEnvs, act: Act) -> float:
    """Median seconds of a step of all groups, after one that warms up."""
    out = Transitions.of(envs.spec, envs.num_rows)
    envs.reset(out.obs)
    groups = list(enumerate(envs.groups))
    for group, rows in groups:
        envs.send(group, act(out.obs[rows]))
    times: list[float] = []
    begun = last = time.perf_counter()
    while last - begun < (MEASURE_S if len(times) > LEAST_STEPS else MOST_S):
        for group, rows in groups:
            envs.receive(group, out)
            envs.send(group, act(out.obs[rows]))
        now = time.perf_counter()
        times.append(now - last)
        last = now
    for group, _ in groups:
        envs.receive(group, out)
    return float(np.median(times[1:] or times)) if times else math.inf
