"""What can be looked at at intervals, each 0 and so never unless a run asks for it."""

from __future__ import annotations

from pydantic import Field

from ...shared import Metric
from ..settings.interval import Interval


class InspectionConfig(Interval):
    """One of three units; 0 in all of them: never."""

    @property
    def is_on(self) -> bool:
        return bool(self.every_iterations or self.every_env_steps or self.every_s)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What runs publish that want this."""
        return self.published if self.is_on else ()

    @property
    def published(self) -> tuple[Metric, ...]:
        return ()


class GradientsConfig(InspectionConfig):
    """Statistics of an iteration's last gradient, as the optimizers took it, of all networks."""

    @property
    def published(self) -> tuple[Metric, ...]:
        return (
            Metric("gradient/mean", level=1, description="of all its numbers"),
            Metric("gradient/variance", level=1, description="of all its numbers"),
            Metric("gradient/norm", level=1, description="its length, clipped where that is asked"),
        )


class WeightsConfig(InspectionConfig):
    """Singular values of every layer's weights, and their effective rank: the extremes as metrics,
    all layers as a line of weights.jsonl in the run's folder.
    """

    @property
    def published(self) -> tuple[Metric, ...]:
        return (
            Metric("weights/largest_singular_value", level=1, description="of all layers"),
            Metric("weights/lowest_rank_fraction", level=1,
                   description="effective rank over the most there can be, of the poorest layer"),
            Metric("weights/norm", level=1, description="of all weights and biases"),
        )  # fmt: skip


class TraceConfig(InspectionConfig):
    """A trace of one iteration, as `operant trace` asks for."""

    keep: int = Field(6, ge=1, le=1000, description="how many traces stay on disk")


class EpisodesConfig(InspectionConfig):
    """A greedy episode as a file that `operant play` shows, in the run's folder episodes/."""

    max_steps: int = Field(1000, ge=1, le=100_000, description="env steps of an episode at most")
    keep: int = Field(20, ge=1, le=10_000, description="how many episodes stay on disk")
