"""The metrics that a run publishes, by its configuration."""

from __future__ import annotations

import itertools

from ...shared import Metric
from ...shared.runs.status import AVERAGE_ENV_STEPS_PER_S, ENV_STEPS_PER_S, ETA_S, PROGRESS_FRACTION
from ..machine.stopwatch import ALL_REDUCE, OTHER, PHASES
from ..settings.section import AlgorithmSection, Section

GRAD_NORM = "optimizer/grad_norm"
MAX_PUBLISHED_RANKS = 256  # of more ranks the first are published

EPISODE_METRICS = (
    Metric("episode/return", "reward", better="up",
           description="mean of the episodes that ended in the iteration"),
    Metric("episode/length", "env steps", description="mean of the episodes that ended"),
    Metric("episode/count", "episodes", level=1, description="how many ended in the iteration"),
    Metric("evaluation/return", "reward", better="up",
           description="mean of greedy episodes, a fixed number"),
    Metric("evaluation/length", "env steps", level=1, description="mean of greedy episodes"),
)  # fmt: skip

PROGRESS_METRICS = (
    Metric("optimizer/learning_rate", level=1, description="as scheduled"),
    Metric(GRAD_NORM, level=1, description="before clipping, mean of the networks"),
    Metric(ENV_STEPS_PER_S, "env steps/s", better="up",
           description="over 30 s of training: no evaluation, no saving"),
    Metric(AVERAGE_ENV_STEPS_PER_S, "env steps/s", level=1, better="up",
           description="of all training so far: no evaluation, no saving"),
    Metric(PROGRESS_FRACTION, description="env steps done, of those asked for"),
    Metric(ETA_S, "s", "timer", description="time left at that speed, evaluations included"),
    *(Metric(f"time/{phase}_s", "s", "timer", level=1, description=f"{phase}, of the iteration")
      for phase in PHASES),
    Metric(f"time/{OTHER}_s", "s", "timer", level=1,
           description="of the iteration, in none of the other phases"),
)  # fmt: skip


def rank_metrics(world_size: int) -> tuple[Metric, ...]:
    """The metrics of several ranks, which rank 0 publishes."""
    of_each = (
        ("num_envs", "environments", "that the rank steps"),
        ("env_steps_per_s", "env steps/s", "of the rank's environments, over 30 s of training"),
        ("work_s", "s", "at work in an iteration, over 30 s of training"),
        ("wait_s", "s", "in sums with other ranks in an iteration; the slowest rank waits least"),
    )
    return (
        Metric(f"time/{ALL_REDUCE}_s", "s", "timer", level=1,
               description="sums with other ranks, of the iteration; no part of the other phases"),
        *(Metric(f"rank/{rank}/{name}", unit, level=1, description=description)
          for rank in range(min(world_size, MAX_PUBLISHED_RANKS))
          for name, unit, description in of_each),
    )  # fmt: skip


def metrics_of(config: Section) -> tuple[Metric, ...]:
    """The metrics that a run publishes: those of all runs, and what the tables of its algorithm and
    its environment add.
    """
    tables = [getattr(config, name) for name in type(config).model_fields]
    of_algorithm = [table for table in tables if isinstance(table, AlgorithmSection)]
    others = [table for table in tables if isinstance(table, Section) and table not in of_algorithm]
    return (
        *EPISODE_METRICS,
        *itertools.chain(*(table.metrics for table in of_algorithm)),
        *PROGRESS_METRICS,
        *itertools.chain(*(getattr(table, "metrics", ()) for table in others)),
    )
