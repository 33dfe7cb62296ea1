"""Processes with a limit: each in a group of its own, which is ended as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LAST_LINES = 15


@dataclass
class Ended:
    """How one ended: `code` is None where it outlasted its limit."""

    code: int | None
    seconds: float
    output: str

    def last_lines(self) -> str:
        return "\n".join(self.output.splitlines()[-LAST_LINES:])[-4000:]

    def why(self) -> str:
        """What became of it, for people."""
        if self.code is None:
            return f"ended after {self.seconds:.0f} s, its limit"
        return f"exit code {self.code}" if self.code >= 0 else f"ended by signal {-self.code}"


def run_within(
    limit_s: float,
    command: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    goes_on: Callable[[], bool] = lambda: True,
    cwd: Path | None = None,
) -> Ended:
    """Run `command` for at most so long, and no longer than `goes_on`, asked five times a second;
    what it prints goes to `log`.
    """
    start = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            start_new_session=True, cwd=cwd,
        )  # fmt: skip
        try:
            code = _ended(process, start + limit_s, goes_on)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return Ended(code, time.monotonic() - start, log.read_text(errors="replace"))


def _ended(
    process: subprocess.Popen[bytes], deadline: float, goes_on: Callable[[], bool]
) -> int | None:
    while time.monotonic() < deadline and goes_on():
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(0.2)
    return None
