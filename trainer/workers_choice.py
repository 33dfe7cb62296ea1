"""The workers of a run: as configured, or whichever number is fastest with its policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from .collector import why_one_piece
from .config import TrainConfig
from .envs.workers.arrays import Array
from .envs.workers.choice import Measured, candidates, chosen, in_words, measured
from .envs.workers.dividing import most_groups, most_workers, num_cores
from .envs.workers.hosted import HostedSpec
from .envs.workers.plan import Plan
from .networks.policy import Policy, first_state

# Of this process: the experiments of one run, of which some only time threads, have the same.
_measured: dict[str, list[Measured]] = {}


def with_workers(
    config: TrainConfig, spec: HostedSpec, policy: Policy, num_sharing: int = 1
) -> tuple[HostedSpec, list[str]]:
    """The spec with the workers that the run is to have, and what people should know of them.
    `num_sharing` ranks on this machine have its cores together.
    """
    asked, num_envs = config.table("workers"), config.num_envs
    groups = 1 if why_one_piece(policy) else num_envs
    cores = max(1, num_cores() // num_sharing)
    pairs = candidates(num_envs, asked.num_workers, asked.async_factor, cores, groups)
    if spec.plan.num_workers > cores:
        spec = replace(spec, plan=_with_fewer(spec.plan, num_envs, cores))
    why = f"there are {cores} cores"
    if num_sharing > 1:
        why = f"a rank here has {cores} of the {num_cores()} cores, and {num_envs} environments"
    notices = _capped(asked.num_workers, spec.plan.num_workers, why)
    if len(pairs) == 1:
        return spec, notices
    key = config.model_dump_json()
    if key not in _measured:
        _measured[key] = measured(spec, num_envs, pairs, _acting(policy))
    found = _measured[key]
    return replace(spec, plan=chosen(found)), [*notices, in_words(found)]


def _with_fewer(plan: Plan, num_envs: int, cores: int) -> Plan:
    """As many workers as there are cores, or as divide the environments."""
    workers = most_workers(num_envs, cores, cores)
    return replace(plan, num_workers=workers, async_factor=most_groups(workers, plan.async_factor))


def _capped(asked: int | str, workers: int, why: str) -> list[str]:
    if not isinstance(asked, int) or asked == workers:
        return []
    return [f"workers: {workers} and not {asked} as configured, for {why}"]


def _acting(policy: Policy) -> Callable[[Array], Array]:
    """Greedy actions, which change nothing."""

    @torch.inference_mode()
    def act(obs: Array) -> Array:
        state = first_state(policy, len(obs))
        actions: Array = policy.greedy_step(torch.from_numpy(obs), state)[0].numpy()
        return actions

    return act
