"""The run that a command is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..monitor.remote.host import RemoteName, remote_name
from ..shared.errors import UsageError

if TYPE_CHECKING:
    from ..shared.run_folder import Run
    from ..shared.status import RunStatus


def run_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """`[RUN | --latest]`: the decorated command gets `run` and `latest`."""
    function = click.argument("run", required=False, metavar="[RUN]")(function)
    return click.option("--latest", is_flag=True, help="The run that was started last.")(function)


def chosen_run(run: str | None, latest: bool) -> Run:
    """The run asked for, the latest without a word. Raises RunNotFoundError or UsageError."""
    if run and latest:
        raise UsageError(f"give either a run ('{run}') or --latest")
    from ..shared.run_folder import find_run, latest_run

    return find_run(run) if run else latest_run()


def status_anywhere(run: str | None, latest: bool) -> RunStatus:
    """The status of the run asked for, here or as HOST:RUN on another machine."""
    remote = chosen_host(run, latest)
    if remote is None:
        from ..shared.ranks import read_status

        return read_status(chosen_run(run, latest))
    from ..monitor.remote.remote_run import RemoteRun

    source = RemoteRun(remote)
    try:
        return source.connect()
    finally:
        source.close()


def chosen_host(run: str | None, latest: bool) -> RemoteName | None:
    """HOST:RUN taken apart, or None for a run of this machine."""
    remote = remote_name(run) if run else None
    if remote and latest:
        raise UsageError(f"give '{remote.host}:' for the latest run of {remote.host}")
    return remote
