"""Checks that all on-policy algorithms share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....shared import Metric

if TYPE_CHECKING:
    from .. import TrainConfig

SKIPPED = Metric(
    "updates/skipped", "updates", level=1,
    description="minibatches so far that moved nothing: their gradient was not finite",
)  # fmt: skip


def check_minibatches(config: TrainConfig, num_minibatches: int) -> None:
    """Raises ValueError where minibatches do not divide the rollout, or with memory its rows."""
    if config.policy.memory.is_on:
        _check_rows(config, num_minibatches)
    elif config.rollout_size % num_minibatches:
        raise ValueError(
            f"{config.base_algorithm}.num_minibatches = {num_minibatches} does not divide the "
            f"rollout of {config.rollout_in_words} = {config.rollout_size}; "
            f"use {_nearest_divisors(config.rollout_size, num_minibatches)}"
        )


def _check_rows(config: TrainConfig, num_minibatches: int) -> None:
    steps, horizon = config.rollout_steps, config.policy.memory.horizon or config.rollout_steps
    if steps % horizon:
        raise ValueError(
            f"policy.memory.horizon = {horizon} does not divide rollout_steps = {steps}; "
            f"use {_nearest_divisors(steps, horizon)}"
        )
    num_rows = config.num_rows * (steps // horizon)
    if num_rows % num_minibatches:
        raise ValueError(
            f"{config.base_algorithm}.num_minibatches = {num_minibatches} does not divide the "
            f"{num_rows} rows of {horizon} steps that policy.memory cuts the rollout into; "
            f"use {_nearest_divisors(num_rows, num_minibatches)}"
        )


def _nearest_divisors(number: int, wanted: int) -> str:
    """The divisors of `number` next to `wanted`, which does not divide it, as text: "4 or 8"."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    divisors = sorted({*small, *(number // d for d in small)})
    below = max(d for d in divisors if d < wanted)
    above = [str(d) for d in divisors if d > wanted][:1]
    return " or ".join([str(below), *above])
