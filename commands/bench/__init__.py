"""`operant bench`: how fast it is on this machine."""

from __future__ import annotations

import click

from .speed import bench_env, bench_rollout, bench_train


@click.group("bench")
def command() -> None:
    """Measure the speed on this machine: environments, rollouts or training, a few seconds each.

    One-time costs, above all compilation, are reported separately.
    """


for each in (bench_env, bench_rollout, bench_train):
    command.add_command(each)
