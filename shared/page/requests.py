"""Signals that ask a trainer to stop in good order, to save a checkpoint, or to trace an
iteration. No other request ever reaches it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ..errors import OperantError
from ..processes.lock import TRAINER, lock_holder
from ..runs.run_folder import Run

Request = Literal["stop", "checkpoint", "trace"]
TakeRequest = Callable[[Request], bool]  # whether there was one, which is then done with

STOP_REASON = "stop_reason"  # in run.toml: who asked the run to stop, or why

SIGNALS: dict[Request, signal.Signals] = {
    "stop": signal.SIGTERM,
    "checkpoint": signal.SIGUSR1,
    "trace": signal.SIGUSR2,
}


def give_reason(run: Run, reason: str) -> None:
    """Write down why `run` is about to be asked to stop, for its status. Without it, for example on
    a full disk, the status shows the signal.
    """
    with contextlib.suppress(OSError, OperantError):
        if manifest := run.read_manifest():
            run.write_manifest({**manifest, STOP_REASON: reason})


def send_request(run: Run, request: Request) -> int:
    """Signal the process of `run`; returns its id.

    Raises OperantError when it is not running, and where it cannot be signalled.
    """
    holder = lock_holder(run.lock_path, TRAINER)
    if not holder:
        raise OperantError(f"{run.id} is not running")
    if not holder.pid:
        raise OperantError(f"{run.id} runs where it cannot be signalled, as in a container")
    # What nobody waits for would end the process.
    if request != "stop" and not _catches(holder.pid, SIGNALS[request]):
        raise OperantError(f"{run.id} (process {holder.pid}) takes no requests for {request}s")
    try:
        os.kill(holder.pid, SIGNALS[request])
    except OSError as error:
        raise OperantError(f"{run.id} (process {holder.pid}): {error.strerror}") from None
    return holder.pid


def _catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal; False where that cannot be seen."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        caught = next(line.split()[1] for line in lines if line.startswith("SigCgt:"))
        return bool(int(caught, 16) >> (number - 1) & 1)
    except (OSError, StopIteration, ValueError):
        return False
