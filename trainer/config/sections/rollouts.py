"""Checks that all on-policy algorithms share."""

from __future__ import annotations

from ....shared import Metric
from ...settings.facts import Facts

SKIPPED = Metric(
    "updates/skipped", "updates", level=1,
    description="minibatches so far that moved nothing: their gradient was not finite",
)  # fmt: skip


def check_minibatches(facts: Facts, num_minibatches: int) -> None:
    """Raises ValueError where minibatches do not divide the rollout, or with memory its rows."""
    if facts.policy.memory.is_on:
        _check_rows(facts, num_minibatches)
    elif facts.rollout_size % num_minibatches:
        raise ValueError(
            f"{facts.algorithm_table}.num_minibatches = {num_minibatches} does not divide the "
            f"rollout of {facts.rollout_in_words} = {facts.rollout_size}; "
            f"use {_nearest_divisors(facts.rollout_size, num_minibatches)}"
        )


def _check_rows(facts: Facts, num_minibatches: int) -> None:
    steps, horizon = facts.rollout_steps, facts.policy.memory.horizon or facts.rollout_steps
    if steps % horizon:
        raise ValueError(
            f"policy.memory.horizon = {horizon} does not divide rollout_steps = {steps}; "
            f"use {_nearest_divisors(steps, horizon)}"
        )
    num_rows = facts.num_rows * (steps // horizon)
    if num_rows % num_minibatches:
        raise ValueError(
            f"{facts.algorithm_table}.num_minibatches = {num_minibatches} does not divide the "
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
