"""`operant stop`: stop a run after its iteration."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

import click

from ..shared.errors import OperantError
from .helpers.choosing_a_run import chosen_run, run_argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..shared.processes.lock import Holder
    from ..shared.runs.run_folder import Run

PATIENCE_S = 30.0
LOOK_AGAIN_S = 0.05
NAMED_WITHIN_S = 0.5  # within which a process that took the lock writes its id


@click.command("stop")
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, latest: bool, as_json: bool) -> None:
    """Stop a run after its iteration and save a checkpoint. Default: the latest run. A second stop,
    at least two seconds later, ends the run at once; the newest checkpoint on disk remains.

    `operant train --resume RUN` continues it. A training loop of your own gets SIGTERM.
    """
    from ..shared.runs.status import holder_of, read_status
    from .helpers.output import headline, print_json, print_line

    chosen = chosen_run(run, latest, must_be_only=True)
    was_running = holder_of(chosen) is not None
    if was_running:
        stop_run(chosen)
    status = read_status(chosen) if chosen.folder.exists() else None
    if as_json:
        print_json(status.as_json() if status else {"run": chosen.id, "state": "deleted"})
        return
    ended = headline(status) if status else "stopped; its folder was deleted"
    print_line(f"{chosen.id}{'' if was_running else ' is not running'}: {ended}")


def stop_run(chosen: Run, by: str = "by operant stop") -> None:
    """Stop a run and wait until it has stopped; `by` is the reason in its status. Raises
    OperantError if it does not stop within `PATIENCE_S`, or cannot be signalled.
    """
    from ..shared.page.requests import give_reason
    from ..shared.runs.status import holder_of

    give_reason(chosen, by)
    stop_holder(lambda: holder_of(chosen), chosen.id)


def stop_holder(find_holder: Callable[[], Holder | None], name: str) -> None:
    """Signal the process that holds the lock of `name`, and wait until the lock is free. Raises
    OperantError on the conditions of `stop_run`.
    """
    signalled = set()
    began_s = time.monotonic()
    deadline = began_s + PATIENCE_S
    while holder := find_holder():
        if not holder.pid and time.monotonic() - began_s < NAMED_WITHIN_S:
            time.sleep(LOOK_AGAIN_S)
            continue
        if not holder.pid:
            raise OperantError(f"{name} runs where it cannot be signalled, as in a container")
        if holder.pid not in signalled:  # first the launcher may hold the lock, then the trainer
            signalled.add(holder.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder.pid, signal.SIGTERM)
        if time.monotonic() > deadline:
            raise OperantError(
                f"{name} (process {holder.pid}) has not stopped within {PATIENCE_S:.0f} s"
            )
        time.sleep(LOOK_AGAIN_S)
