"""`operant bench`: how fast it is, and what is worth what, on this machine."""

from __future__ import annotations

import click

from .compare import ablate, compare
from .speed import bench_env, bench_rollout, bench_train


@click.group("bench")
def command() -> None:
    """Measure the speed on this machine: environments, rollouts or training, a few seconds each; or
    compare whole runs of several configurations by score and speed.

    One-time costs, above all compilation, are reported separately.
    """


for each in (bench_env, bench_rollout, bench_train, compare, ablate):
    command.add_command(each)
