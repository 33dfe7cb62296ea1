"""The settings that all off-policy algorithms share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from ....shared import Metric
from ...settings.facts import Facts
from ...settings.section import Fraction, Section
from .exploring import EPSILON, EpsilonGreedyConfig

UPDATES_PER_S = Metric(
    "updates/per_s", "updates/s", better="up", description="over 30 s of training"
)
OVERESTIMATION = Metric(
    "value/overestimation", "reward",
    description="values of where evaluation began, minus the returns that followed",
)  # fmt: skip
LEFT_OUT = Metric(
    "replay/left_out", "transitions", level=1,
    description="never learned from: a number of theirs is NaN or infinite",
)  # fmt: skip
PRIORITY_METRICS = (
    Metric("replay/mean_priority", level=1, description="of all transitions"),
    Metric("replay/priority_spread", level=1,
           description="how much likelier a new transition is drawn than the average one"),
    Metric("replay/refused_updates", "updates", level=1,
           description="updates of priorities with an error that is not a number"),
)  # fmt: skip


class ReplayConfig(Section):
    """The memory of past steps that updates draw from."""

    capacity: int = Field(
        1_000_000, ge=1, le=10**10, description="size in transitions, of all environments together"
    )
    memory: Literal["device", "host"] = Field(
        "device",
        description="where observations are stored; host: in main memory, if they are large",
    )
    priority_exponent: Fraction = Field(
        0.0, description="alpha: how much larger errors are preferred; 0: uniform sampling"
    )

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that runs with a replay buffer add."""
        return (
            UPDATES_PER_S,
            OVERESTIMATION,
            LEFT_OUT,
            *(PRIORITY_METRICS if self.priority_exponent else ()),
        )


class PrioritizedReplayConfig(ReplayConfig):
    """Prioritised by default."""

    priority_exponent: Fraction = Field(
        0.5, description="alpha: how much larger errors are preferred; 0: uniform sampling"
    )


class OffPolicyConfig(EpsilonGreedyConfig):
    """Steps of every environment, then updates from replay."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("loss/value", better="down", description="of the values, mean over the updates"),
        Metric("value/mean", "reward", description="mean value of the actions drawn"),
        Metric("value/td_error", "reward", description="mean distance from the target"),
        Metric("replay/fill_fraction", description="part of the replay that holds transitions"),
        Metric(
            "updates/skipped",
            "updates",
            level=1,
            description="of those, with a gradient that was not finite",
        ),
        Metric("updates/per_env_step", level=1, description="of this iteration"),
        Metric("updates/count", "updates", level=1, description="of all iterations so far"),
        EPSILON,
    )
    unused_keys: ClassVar[tuple[str, ...]] = (
        "normalization.reward", "normalization.reward_limit", "policy.distribution",
        "policy.initial_log_std", "rollout",
    )  # fmt: skip
    tables: ClassVar[dict[str, type[Section]]] = {"replay": ReplayConfig}

    batch_size: int = Field(256, ge=1, le=2**24, description="transitions per update")
    updates_per_env_step: float = Field(
        1.0, gt=0, le=1024, description="gradient steps per env step (the replay ratio)"
    )
    warmup_env_steps: int = Field(
        1_000, ge=0, le=10**12, description="env steps of random actions before the first update"
    )
    n_step: int = Field(1, ge=1, le=1024, description="rewards summed before the bootstrap value")
    target_tau: float = Field(
        0.005, gt=0, le=1, description="step of each target update; 1: copy the online network"
    )
    max_grad_norm: float = Field(
        10.0, gt=0, description="maximum gradient norm; larger gradients are scaled down to it"
    )

    def num_updates(self, rollout_size: int) -> int:
        """The number of updates of an iteration in which all env steps count, its maximum."""
        num_updates = round(self.updates_per_env_step * rollout_size)
        return math.ceil(num_updates / self.updates_at_once) * self.updates_at_once

    @property
    def updates_at_once(self) -> int:
        """The number of updates in an iteration is a multiple of this; the next iteration makes up
        for the rest.
        """
        return 1

    def warnings(self, facts: Facts) -> tuple[str, ...]:
        num_env_steps = facts.num_iterations * facts.rollout_size
        if num_env_steps >= self.warmup_env_steps:
            return self._exploration_warnings(facts)
        return (
            f"this run learns nothing: it ends after {num_env_steps} env steps, and the first "
            f"update comes after {facts.algorithm_table}.warmup_env_steps = "
            f"{self.warmup_env_steps}",
        )

    def _exploration_warnings(self, facts: Facts) -> tuple[str, ...]:
        """Warn where epsilon falls within the warm-up, whose actions are all random."""
        name = facts.algorithm_table
        end = self.epsilon_fraction * facts.num_scheduled_iterations * facts.rollout_size
        if self.epsilon_start == self.epsilon_end or end > self.warmup_env_steps:
            return ()
        return (
            f"{name}.epsilon_start and {name}.epsilon_fraction change nothing: epsilon is "
            f"{name}.epsilon_end = {self.epsilon_end:g} after {end:.0f} env steps, and all actions "
            f"are random up to {name}.warmup_env_steps = {self.warmup_env_steps}",
        )

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        yield from super().ignored_keys(facts)
        where = "device = cpu" if facts.is_own else facts.env
        if facts.device == "cpu" or not facts.is_own:
            yield "replay.memory", f"{where} is on the processor, where all memory is the host's"

    def check(self, facts: Facts) -> None:
        name, size = facts.algorithm_table, facts.rollout_size
        wanted = self.updates_per_env_step * size
        if abs(wanted - round(wanted)) > 1e-6 * wanted or wanted < 0.5:
            raise ValueError(
                f"{name}.updates_per_env_step = {self.updates_per_env_step:g} x {size} env steps "
                f"an iteration ({facts.rollout_in_words}) = {wanted:g} updates, which is no "
                "whole number; change rollout_steps"
            )
        replay = facts.tables["replay"]
        warm = max(self.warmup_env_steps, size)
        if self.batch_size > warm:
            raise ValueError(
                f"{name}.batch_size = {self.batch_size}: the first update comes after "
                f"{warm} env steps; raise {name}.warmup_env_steps"
            )
        for key, needed in {"warmup_env_steps": warm, "batch_size": self.batch_size}.items():
            if needed > replay.capacity:
                raise ValueError(
                    f"replay.capacity = {replay.capacity}: {name}.{key} wants {needed} transitions"
                )
        rows = replay.capacity // facts.num_rows
        for key, needed in {"n_step": self.n_step, "rollout_steps": facts.rollout_steps}.items():
            if needed >= rows:
                where = f"{name}.{key}" if key == "n_step" else key
                raise ValueError(
                    f"{where} = {needed}: replay.capacity = {replay.capacity} holds {rows} steps "
                    f"of each of {facts.rows_in_words}, and more than {needed} are wanted"
                )
