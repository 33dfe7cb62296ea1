"""What is said of a worker that failed: one line, with the environments and the place."""

from __future__ import annotations

import os
import re
import signal

from ....shared.errors import OperantError
from ....shared.harmless import one_line

MOST_BYTES = 65_536  # of a report

_FRAME = re.compile(r'File "(.+)", line (\d+) in (\S+)')


class WorkerError(OperantError):
    """A worker failed: its environments raised, hang, or its process is gone."""


def name_of(worker: int, envs: range) -> str:
    """A worker and its environments, as `worker 1 (environments 4 to 7)`."""
    numbers = f"environment {envs[0]}"
    if len(envs) > 1:
        numbers = f"environments {envs[0]} to {envs[-1]}"
    return f"worker {worker} ({numbers})"


def raised(name: str, env: int | None, report: int) -> WorkerError:
    """It said itself what happened, in the last line of its report."""
    lines = _text(report).strip().splitlines() or ["no reason was given"]
    where = "" if env is None else f"in environment {env} "
    return WorkerError(f"{name}: {where}{one_line(lines[-1])}")


def ended(name: str, env: int | None, code: int, report: int) -> WorkerError:
    """Its process is gone."""
    if code == -signal.SIGKILL:
        how = "was killed by SIGKILL, as the kernel does where memory runs out"
    elif code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    else:
        how = f"ended itself with exit code {code}"
    return WorkerError(f"{name} {how}{_place(env, report)}")


def hangs(name: str, env: int | None, timeout_s: float, report: int) -> WorkerError:
    """It has not answered."""
    return WorkerError(
        f"{name} has not answered for {timeout_s:g} s (workers.timeout_s){_place(env, report)}"
    )


def said_nothing(report: int) -> bool:
    return not _text(report).strip()


def _place(env: int | None, report: int) -> str:
    """Where it was, by the newest of the places that faulthandler wrote to its report."""
    where = "" if env is None else f", in environment {env}"
    places = _text(report).rpartition("most recent call first")[2]
    frame = _FRAME.search(places)
    if not frame:
        return where
    file, line, function = frame.groups()
    return f"{where} " + one_line(f"({file}, line {line}, in {function})")


def _text(report: int) -> str:
    size = os.fstat(report).st_size
    start = max(0, size - MOST_BYTES)
    return os.pread(report, MOST_BYTES, start).decode(errors="replace")
