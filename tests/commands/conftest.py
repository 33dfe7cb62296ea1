"""Training processes that no test leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from recorded import recorder_pid
from waiting import wait_for

from operant.shared.lock import lock_holder
from operant.shared.ranks import read_status
from operant.shared.run_folder import list_runs


@pytest.fixture
def start_training() -> Iterator[Callable[..., Any]]:
    """Start `operant train` in the foreground; returns (process, run) once it has published."""
    processes = []

    def start(*arguments: str) -> Any:
        known = set(list_runs())
        process = subprocess.Popen(
            [sys.executable, "-m", "operant", "train", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        (run,) = wait_for(lambda: set(list_runs()) - known)
        wait_for(lambda: (read_status(run).iteration or 0) >= 1)
        return process, run

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def kill_runs() -> Iterator[None]:
    """Leaves no detached trainer behind."""
    yield
    for run in list_runs():
        holder = lock_holder(run.lock_path)
        if holder and holder.pid:
            os.kill(holder.pid, signal.SIGKILL)


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs are recorded; neither they nor their recorders outlive the test."""
    monkeypatch.setenv("OPERANT_RECORDER", "on")
    yield
    for run in list_runs():
        for pid in (getattr(lock_holder(run.lock_path), "pid", 0), recorder_pid(run)):
            if pid and pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
