"""The tables that every run has, whatever its environment and algorithm."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from ...shared.alert_rule import MOST_RULES, parse_rule
from ...shared.errors import ConfigError
from .interval import UNITS, Interval
from .section import Fraction, Section

Sink = Literal["tensorboard", "prometheus", "wandb"]  # those of SINK_PACKAGES


class MemoryConfig(Section):
    """What the policy remembers of the steps before, for environments that do not show all."""

    kind: Literal["none", "lstm", "gru"] = Field(
        "none", description="a layer behind the hidden ones that remembers, shared by both heads"
    )
    size: int = Field(64, ge=1, le=4096, description="units of that layer; 1 to 4096")
    horizon: int = Field(
        0,
        ge=0,
        le=65_536,
        description="env steps that gradients go back through; must divide rollout_steps; "
        "0: the whole rollout",
    )

    @property
    def is_on(self) -> bool:
        return self.kind != "none"


class PolicyConfig(Section):
    """The networks: an actor and a critic of the same shape, with no layers in common but where
    they have a memory.
    """

    hidden_sizes: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        (64, 64), max_length=8, description="units of each hidden layer; 1 to 4096"
    )
    activation: Literal["tanh", "relu", "elu"] = Field(
        "tanh", description="after each hidden layer"
    )
    distribution: Literal["auto", "gaussian", "squashed_gaussian", "beta"] = Field(
        "auto",
        description="of real-valued actions; auto: gaussian, or categorical for discrete actions",
    )
    initial_log_std: float = Field(
        0.0,
        ge=-5,
        le=2,
        description="logarithm of the gaussians' deviation at the start, in half ranges; -5 to 2",
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32",
        description="of the networks' products; weights, losses and physics stay float32",
    )
    memory: MemoryConfig = MemoryConfig()


class NormalizationConfig(Section):
    """Running statistics of what the policy sees, kept in checkpoints and frozen in evaluation."""

    obs: bool = Field(False, description="observations to mean 0 and deviation 1, clipped at 10")
    reward: bool = Field(
        False,
        description="rewards divided by the deviation of the discounted return, clipped at 10",
    )
    reward_limit: float = Field(
        0.0, ge=0, le=1e9, description="rewards are cut to this and its negative first; 0: never"
    )
    reward_centring: Fraction = Field(
        0.0,
        description="rewards less their average in each row, which follows them at this rate, as "
        "1e-3; 0: never",
    )


class EvaluationConfig(Interval):
    """Greedy episodes in environments of their own, one episode each, and always at the end.

    Without an interval they come as often as `time_fraction` leaves time for.
    """

    time_fraction: float = Field(
        0.1, ge=0, le=1,
        description="without an interval: the part of the run's time that evaluations may take, "
        "from the first minute on; 0: only at the end",
    )  # fmt: skip
    num_episodes: int = Field(100, ge=0, le=100_000, description="0: never evaluate")
    max_episode_steps: int = Field(
        27_000, ge=1, le=10**9, description="env steps after which an episode is cut off"
    )

    @model_validator(mode="after")
    def _fraction_has_no_interval(self) -> Self:
        default = type(self).model_fields["time_fraction"].default
        if self.is_set and self.time_fraction != default:
            interval = next(key for key in UNITS if getattr(self, key))
            raise ValueError(
                f"time_fraction = {self.time_fraction} is for runs without an interval; set "
                f"{interval} = 0"
            )
        return self


class CheckpointConfig(Interval):
    """When to save. The end of a run and its interruption always save."""

    every_iterations: int = Field(50, ge=0, description="iterations between two; 0: none")
    replay: bool = Field(True, description="whether it holds the replay: then resuming is exact")
    keep: int = Field(
        3, ge=1, le=1000,
        description="how many of the newest stay on disk, whether saved at intervals, on request "
        "or at the end",
    )  # fmt: skip


class RanksConfig(Section):
    """What several processes do that learn one policy; one alone has no use for it."""

    cut_stragglers: bool = Field(
        False,
        description="once 60 % of the ranks have their rollout, the others, from a quarter of "
        "theirs on, learn from what they have; no two runs are then the same",
    )
    silent_for_s: float = Field(
        7.0, ge=1, le=3600, description="how long one may say nothing before it counts as lost"
    )


class RecorderConfig(Section):
    """The process beside the run that keeps its numbers on disk; see docs/runs.md."""

    on: bool = Field(True, description="whether the run starts one")
    every_s: float = Field(
        3.0, ge=0.1, le=3600, description="seconds between two rows of metrics.csv; 0.1 to 3600"
    )
    to: tuple[Sink, ...] = Field(
        (), description='also to any of tensorboard, prometheus, wandb, as in "wandb,prometheus"'
    )
    wait_s: float = Field(
        2.0, ge=0, le=60, description="longest that a run that ends waits for it, seconds; 0 to 60"
    )
    prometheus_port: int = Field(9464, ge=1, le=65535, description="1 to 65535")
    prometheus_address: str = Field(
        "127.0.0.1", min_length=1, description="what Prometheus may reach; 0.0.0.0: everyone"
    )
    alerts: tuple[str, ...] = Field(
        (), max_length=MOST_RULES, description='rules, as in "loss/value > 1e3, episode/return < '
        '100 after 1M"; see docs/alerts.md',
    )  # fmt: skip

    @field_validator("to", "alerts", mode="before")
    @classmethod
    def _with_commas(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        return [part.strip() for part in given.split(",") if part.strip()]

    @field_validator("alerts")
    @classmethod
    def _are_rules(cls, alerts: tuple[str, ...]) -> tuple[str, ...]:
        try:
            return tuple(parse_rule(text).text for text in alerts)
        except ConfigError as error:
            raise ValueError(str(error)) from None
