"""Training processes that no test leaves behind, and machines that are this one."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from recorded import recorder_pid
from ssh_server import MISSING, ssh_server
from waiting import wait_for

from operant.shared.processes.lock import lock_holder
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.status import read_status

# Runs the command that ssh would run elsewhere, with what a chatty shell prints before it.
STAND_IN = """#!/bin/sh
for last; do :; done
echo "Last login: never"
exec sh -c "$last"
"""


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


@pytest.fixture(params=["real", "stand-in"])
def ssh(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """$OPERANT_SSH reaches this machine as if it were another, $OPERANT_REMOTE its operant."""
    places = ("OPERANT_HOME", "OPERANT_PAGES", "OPERANT_RECORDER", "PYTHONPATH")
    there = [f"{name}={os.environ[name]}" for name in places if name in os.environ]
    remote = shlex.join(["env", *there, sys.executable, "-m", "operant"])
    monkeypatch.setenv("OPERANT_REMOTE", remote)
    if request.param == "real":
        if MISSING:
            pytest.skip(MISSING)
        with ssh_server(tmp_path / "ssh") as command:
            monkeypatch.setenv("OPERANT_SSH", command)
            yield
    else:
        script = tmp_path / "ssh"
        script.write_text(STAND_IN)
        script.chmod(0o700)
        monkeypatch.setenv("OPERANT_SSH", str(script))
        yield
