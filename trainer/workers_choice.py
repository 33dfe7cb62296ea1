"""The workers of a run: as configured, or whichever number is fastest with its policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from .collector import why_one_piece
from .config import TrainConfig
from .envs.workers.arrays import Array
from .envs.workers.choice import Measured, candidates, chosen, in_words, measured
from .envs.workers.dividing import num_cores
from .envs.workers.hosted import HostedSpec
from .networks.policy import Policy, first_state

# Of this process: the experiments of one run, of which some only time threads, have the same.
_measured: dict[str, list[Measured]] = {}


def with_workers(
    config: TrainConfig, spec: HostedSpec, policy: Policy
) -> tuple[HostedSpec, list[str]]:
    """The spec with the workers that the run is to have, and what people should know of them."""
    asked, num_envs = config.table("workers"), config.num_envs
    most_groups = 1 if why_one_piece(policy) else num_envs
    pairs = candidates(num_envs, asked.num_workers, asked.async_factor, num_cores(), most_groups)
    notices = _capped(asked.num_workers, spec.plan.num_workers)
    if len(pairs) == 1:
        return spec, notices
    key = config.model_dump_json()
    if key not in _measured:
        _measured[key] = measured(spec, num_envs, pairs, _acting(policy))
    found = _measured[key]
    return replace(spec, plan=chosen(found)), [*notices, in_words(found)]


def _capped(asked: int | str, workers: int) -> list[str]:
    if not isinstance(asked, int) or asked == workers:
        return []
    return [f"workers: {workers} and not {asked} as configured, for there are {num_cores()} cores"]


def _acting(policy: Policy) -> Callable[[Array], Array]:
    """Greedy actions, which change nothing."""

    @torch.inference_mode()
    def act(obs: Array) -> Array:
        state = first_state(policy, len(obs))
        actions: Array = policy.greedy_step(torch.from_numpy(obs), state)[0].numpy()
        return actions

    return act
