"""`operant stream`: the far end of a monitor that watches from another machine."""

from __future__ import annotations

import sys

import click

from ..shared.errors import UsageError
from .choosing_a_run import chosen_run, run_argument
from .numbers import NumberRange

LIST_EVERY_S = 1.0  # as often as the list is drawn


@click.command("stream")
@run_argument
@click.option(
    "--every",
    "every_s",
    type=NumberRange(0.05, 60.0),
    default=0.25,
    show_default=True,
    help="Seconds between two looks at the run.",
)
@click.option("--list", "is_list", is_flag=True, help="All runs, in place of one.")
def command(run: str | None, latest: bool, every_s: float, is_list: bool) -> None:
    """Write a run to standard output for a monitor elsewhere.

    `operant monitor HOST:RUN` starts this on HOST over ssh, `operant monitor --host HOST` with
    --list; nobody needs to call it by hand.
    """
    if is_list:
        _send_list(run, latest, every_s)
        return
    from ..monitor.remote.sending import send_run

    chosen = chosen_run(run, latest)
    _check_output()
    send_run(chosen, sys.stdout.buffer, every_s)


def _send_list(run: str | None, latest: bool, every_s: float) -> None:
    if run or latest:
        raise UsageError("--list is of all runs, and goes with no RUN or --latest")
    from ..monitor.remote.sending_list import send_list

    _check_output()
    send_list(sys.stdout.buffer, max(every_s, LIST_EVERY_S))


def _check_output() -> None:
    if sys.stdout.isatty():
        raise UsageError("a stream is for programs; `operant monitor` shows a run in a terminal")
