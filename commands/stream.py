"""`operant stream`: the far end of a monitor that watches from another machine."""

from __future__ import annotations

import sys

import click

from ..shared.errors import UsageError
from .command import Command
from .helpers.choosing_a_run import chosen_run, run_argument
from .helpers.numbers import NumberRange

LIST_EVERY_S = 1.0  # as often as the list is drawn


@click.command("stream", cls=Command, hidden=True)
@run_argument
@click.option(
    "--every",
    "every_s",
    type=NumberRange(0.05, 60.0),
    default=0.25,
    show_default=True,
    help="Seconds between two readings of the run.",
)
@click.option(
    "--list", "is_list", is_flag=True, help="Stream the list of all runs instead of one run."
)
def command(run: str | None, every_s: float, is_list: bool) -> None:
    """Write a run to standard output for a monitor on another machine.

    `operant monitor HOST:RUN` starts this on HOST over ssh, and `operant monitor --host HOST`
    starts it with --list. You need not call it yourself.
    """
    if is_list:
        _send_list(run, every_s)
        return
    from ..monitor.remote.sending import send_run

    chosen = chosen_run(run)
    _check_output()
    send_run(chosen, sys.stdout.buffer, every_s)


def _send_list(run: str | None, every_s: float) -> None:
    if run:
        raise UsageError("--list shows all runs, and excludes RUN")
    from ..monitor.remote.sending import send_list

    _check_output()
    send_list(sys.stdout.buffer, max(every_s, LIST_EVERY_S))


def _check_output() -> None:
    if sys.stdout.isatty():
        raise UsageError("a stream is for programs; use `operant monitor` to watch a run")
