"""`operant bench`: how fast it is, and what is worth what, on this machine."""

from __future__ import annotations

import click

from .compare import ablate, compare
from .speed import bench_env, bench_rollout, bench_train


@click.group("bench")
def command() -> None:
    """Measure on this machine: environments, rollouts or training alone, each a few seconds; or
    whole runs of several configurations, with their scores beside their speed.

    Everything that is done once, compilation above all, is reported apart.
    """


for each in (bench_env, bench_rollout, bench_train, compare, ablate):
    command.add_command(each)
