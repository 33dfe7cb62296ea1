"""`operant stop`: end a run in good order."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import click

from ..shared.errors import OperantError
from .choosing_a_run import chosen_run, run_argument

PATIENCE_S = 30.0
LOOK_AGAIN_S = 0.05
NAMED_WITHIN_S = 0.5  # a process that has taken the lock this moment says next who it is


@click.command("stop")
@run_argument
def command(run: str | None, latest: bool) -> None:
    """Stop a run, the latest by default: it finishes its iteration and saves a checkpoint. Asked
    once more, two seconds later or more, it ends at once, with the newest checkpoint on disk.

    `operant train --resume RUN` goes on from there. A training loop of your own gets SIGTERM.
    """
    from ..shared.ranks import read_status
    from ..shared.status import holder_of
    from .output import headline, print_line

    chosen = chosen_run(run, latest)
    if holder_of(chosen) is None:
        print_line(f"{chosen.id} is not running: {headline(read_status(chosen))}")
        return
    signalled = set()
    began_s = time.monotonic()
    deadline = began_s + PATIENCE_S
    while holder := holder_of(chosen):
        if not holder.pid and time.monotonic() - began_s < NAMED_WITHIN_S:
            time.sleep(LOOK_AGAIN_S)
            continue
        if not holder.pid:
            raise OperantError(f"{chosen.id} runs where it cannot be signalled, as in a container")
        if holder.pid not in signalled:  # of several ranks, one is seen after the other
            signalled.add(holder.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder.pid, signal.SIGTERM)
        if time.monotonic() > deadline:
            raise OperantError(
                f"{chosen.id} (process {holder.pid}) has not stopped within {PATIENCE_S:.0f} s"
            )
        time.sleep(LOOK_AGAIN_S)
    print_line(f"{chosen.id}: {headline(read_status(chosen))}")
