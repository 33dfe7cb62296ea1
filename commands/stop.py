"""`operant stop`: stop a run after its iteration, or a sweep."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

import click

from ..shared.errors import OperantError, UsageError
from .command import Command, json_option
from .helpers.choosing_a_run import chosen_run, run_or_sweep, sweep_called

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..shared.processes.lock import Holder
    from ..shared.runs.run_folder import Run
    from ..shared.runs.sweep_folder import Sweep

PATIENCE_S = 30.0
LOOK_AGAIN_S = 0.05
NAMED_WITHIN_S = 0.5  # within which a process that took the lock writes its id


@click.command("stop", cls=Command)
@run_or_sweep
@json_option
def command(name: str | None, latest: bool, as_json: bool) -> None:
    """Stop a run after its iteration, with a checkpoint, or a sweep.

    `operant train --resume RUN` continues it. A second stop, at least two seconds later, ends the
    run at once; the newest checkpoint on disk remains. A training loop of your own gets SIGTERM.

    When a sweep stops, its runs finish their iterations and save checkpoints, and `operant sweep
    --resume NAME` continues it. To stop one run of a sweep fails its trial.
    """
    if not (name or latest):
        raise UsageError("stop which run? name a run or a sweep, or give --latest")
    if sweep := sweep_called(name):
        _stop_sweep(sweep, as_json)
    else:
        _stop(chosen_run(name, latest, must_be_only=True), as_json)


def _stop(chosen: Run, as_json: bool) -> None:
    from ..shared.runs.status import holder_of, read_status
    from .helpers.output import headline, print_json, print_line, run_json

    was_running = holder_of(chosen) is not None
    if was_running:
        stop_run(chosen)
    status = read_status(chosen) if chosen.folder.exists() else None
    if as_json:
        deleted = {"id": chosen.id, "state": "deleted"}
        print_json(run_json(status, chosen.notes(), chosen) if status else deleted)
        return
    ended = headline(status) if status else "stopped; its folder was deleted"
    print_line(f"{chosen.id}{'' if was_running else ' is not running'}: {ended}")


def _stop_sweep(sweep: Sweep, as_json: bool) -> None:
    from ..shared.processes.lock import lock_holder
    from .helpers.output import print_line
    from .sweep.status import in_words, show_sweep

    was_running = sweep.is_held()
    if was_running:
        stop_holder(lambda: lock_holder(sweep.lock_path), f"sweep {sweep.name}")
    if as_json:
        show_sweep(sweep, as_json)
    else:
        print_line(f"{sweep.name}{'' if was_running else ' is not running'}: {in_words(sweep)}")


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
