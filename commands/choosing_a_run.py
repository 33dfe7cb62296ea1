"""The run that a command is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ..shared.errors import UsageError
from ..shared.run_folder import Run, find_run, latest_run


def run_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """`[RUN | --latest]`: the decorated command gets `run` and `latest`."""
    function = click.argument("run", required=False, metavar="[RUN]")(function)
    return click.option("--latest", is_flag=True, help="The run that was started last.")(function)


def chosen_run(run: str | None, latest: bool) -> Run:
    """The run asked for, the latest without a word. Raises RunNotFoundError or UsageError."""
    if run and latest:
        raise UsageError(f"give either a run ('{run}') or --latest")
    return find_run(run) if run else latest_run()
