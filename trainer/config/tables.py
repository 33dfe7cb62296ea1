"""The tables that every run has, whatever its environment and algorithm."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, field_validator

from ...shared import Metric
from ...shared.errors import ConfigError
from ...shared.runs.alert_rule import MOST_RULES, parse_rule
from ..settings.interval import Interval
from ..settings.section import Section

NO_BEST = "none"  # of `checkpoint.best`
Sink = Literal["tensorboard", "prometheus", "wandb"]  # those of SINK_PACKAGES


class NormalizationConfig(Section):
    """Running statistics of what the policy sees, kept in checkpoints and frozen in evaluation."""

    obs: bool = Field(False, description="normalise observations by running statistics, clip at 10")
    reward: bool = Field(
        False, description="divide rewards by the return's standard deviation, clip at 10"
    )
    reward_limit: float = Field(
        0.0, ge=0, le=1e9, description="clip rewards to plus or minus this first; 0: no clipping"
    )


class EvaluationConfig(Interval):
    """Greedy episodes in environments of their own, one episode each, and always at the end."""

    num_episodes: int = Field(
        100, ge=0, le=100_000, description="per evaluation; 0: never evaluate"
    )
    max_episode_steps: int = Field(
        27_000, ge=1, le=10**9, description="env steps after which an episode is cut off"
    )


class CheckpointConfig(Interval):
    """When to save. The end of a run and its interruption always save."""

    replay: bool = Field(True, description="save the replay buffer too, so that resuming is exact")
    keep: int = Field(
        3, ge=1, le=1000,
        description="checkpoints to keep on disk; older ones are deleted",
    )  # fmt: skip
    best: str = Field(
        "evaluation/return",
        description="the metric whose best iteration is kept as well, its policy in best.pt; none: "
        "no such file",
    )


class StopConfig(Section):
    """When a run ends before `total_env_steps`. It looks at the mean return of each evaluation; a
    run that ended so is finished, and --resume goes on from it.
    """

    at_return: float | None = Field(
        None, description="at an evaluation whose mean return is this or more"
    )
    patience: int = Field(
        0, ge=0, le=10**6,
        description="after so many evaluations in a row none of which is better than the best "
        "before; 0: never",
    )  # fmt: skip


class RecorderConfig(Section):
    """The process beside the run that keeps its numbers on disk; see docs/runs.md."""

    to: tuple[Sink, ...] = Field(
        (), description='sinks: any of tensorboard, prometheus, wandb, as in "wandb,prometheus"'
    )
    prometheus_port: int = Field(
        9464, ge=1, le=65535, description="Prometheus asks here; 1 to 65535"
    )
    prometheus_address: str = Field(
        "127.0.0.1", min_length=1, description="address to listen on; 0.0.0.0: all networks"
    )
    alerts: tuple[str, ...] = Field(
        (), max_length=MOST_RULES, description='alert rules, as in "loss/value > 1e3, '
        'episode/return < 100 after 1M"; see docs/alerts.md',
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


class InspectionConfig(Interval):
    """An inspection at intervals: never, unless a run sets one of three units."""

    published: ClassVar[tuple[Metric, ...]] = ()  # where there is an interval

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of runs with this inspection."""
        return self.published if self.is_set else ()


class GradientsConfig(InspectionConfig):
    """Statistics of an iteration's last gradient, as the optimizers took it, of all networks."""

    published: ClassVar[tuple[Metric, ...]] = (
        Metric("gradient/mean", level=1, description="of all its numbers"),
        Metric("gradient/variance", level=1, description="of all its numbers"),
        Metric("gradient/norm", level=1, description="its length, clipped where that is asked"),
    )


class WeightsConfig(InspectionConfig):
    """Singular values of every layer's weights, and their effective rank: the extremes as metrics,
    all layers as a line of weights.jsonl in the run's folder.
    """

    published: ClassVar[tuple[Metric, ...]] = (
        Metric("weights/largest_singular_value", level=1, description="of all layers"),
        Metric("weights/lowest_rank_fraction", level=1,
               description="effective rank over the most there can be, of the poorest layer"),
        Metric("weights/norm", level=1, description="of all weights and biases"),
    )  # fmt: skip


class TraceConfig(InspectionConfig):
    """A trace of one iteration, as `operant trace` asks for."""


class EpisodesConfig(InspectionConfig):
    """A greedy episode as a file that `operant play` shows, in the run's folder episodes/."""
