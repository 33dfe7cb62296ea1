"""Requests reach the processes of a run, those that wait for them, and nobody else."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from waiting import wait_for

from operant.shared import OperantError
from operant.shared.page.requests import send_request
from operant.shared.processes.lock import Holder, lock_holder
from operant.shared.runs.run_folder import create_run

HOLDER = """
import signal, sys, time
from pathlib import Path
from operant.shared.processes.lock import RunLock
if "catch" in sys.argv:
    signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
lock = RunLock(Path(sys.argv[1]), 0)
while True:
    time.sleep(0.01)
"""


@pytest.fixture
def run():
    run, lock = create_run("test", {})
    lock.release()
    return run


@pytest.fixture
def hold(run):
    processes = []

    def hold(*arguments: str) -> subprocess.Popen:
        command = [sys.executable, "-c", HOLDER, str(run.lock_path), *arguments]
        processes.append(subprocess.Popen(command))
        # It names itself right after it has the lock.
        wait_for(lambda: (lock_holder(run.lock_path) or Holder(0)).pid)
        return processes[-1]

    yield hold
    for process in processes:
        process.kill()
        process.wait()


def test_a_request_to_stop_is_a_sigterm_to_the_one_who_holds_the_lock(run, hold):
    process = hold()
    assert send_request(run, "stop") == process.pid
    assert process.wait(60) == -signal.SIGTERM


def test_a_request_for_a_checkpoint_reaches_a_process_that_waits_for_it(run, hold):
    process = hold("catch")
    send_request(run, "checkpoint")
    assert process.wait(60) == 7


def test_a_process_that_does_not_wait_for_it_is_left_alone(run, hold):
    process = hold()
    with pytest.raises(OperantError, match="takes no requests"):
        send_request(run, "checkpoint")
    assert process.poll() is None


def test_a_run_that_has_ended_is_asked_nothing(run):
    with pytest.raises(OperantError, match="not running"):
        send_request(run, "stop")
