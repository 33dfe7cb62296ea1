"""`operant stream`: the far end of a monitor that watches from another machine."""

from __future__ import annotations

import sys

import click

from ..shared.errors import UsageError
from .choosing_a_run import chosen_run, run_argument
from .numbers import NumberRange


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
def command(run: str | None, latest: bool, every_s: float) -> None:
    """Write a run to standard output for a monitor elsewhere.

    `operant monitor HOST:RUN` starts this on HOST over ssh; nobody needs to call it by hand.
    """
    from ..monitor.remote.sending import send_run

    chosen = chosen_run(run, latest)
    if sys.stdout.isatty():
        raise UsageError("a stream is for programs; `operant monitor` shows a run in a terminal")
    send_run(chosen, sys.stdout.buffer, every_s)
