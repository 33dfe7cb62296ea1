"""Running, stalled, crashed and finished are told apart, with real processes and real signals."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import psutil
import pytest
from waiting import wait_for

from operant.shared import RunFolderError
from operant.shared.processes.lock import (
    LAUNCHER,
    RECORDER,
    RunLock,
    lock_holder,
)
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import RunStatus, read_status

# A process that publishes for ever, 20 times a second; it says when it has begun.
PUBLISHER = """
import os, sys, time
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
run, lock = create_run("test", {})
session = RunSession(run, lock, publish_interval_s=0.05)
def work():
    while True:
        session.metrics.publish({"a": 1.0}, 1, 1)
        time.sleep(0.02)
"""


@pytest.fixture
def start():
    """Start a publisher that then runs `code`; returns (process, run) once it has published."""
    processes = []

    def start(code: str = "work()") -> tuple[subprocess.Popen[bytes], Run]:
        known = set(list_runs())
        process = subprocess.Popen([sys.executable, "-c", PUBLISHER + code], start_new_session=True)
        processes.append(process)
        wait_for(lambda: set(list_runs()) - known)
        (run,) = set(list_runs()) - known
        wait_for(lambda: read_status(run).iteration == 1)
        return process, run

    yield start
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def state(run: Run) -> str:
    return read_status(run).state


def test_a_killed_process_is_crashed_at_once_and_others_run_on(start):
    process, run = start()
    _, other = start()
    assert state(run) == "running"
    process.kill()
    process.wait()
    assert state(run) == "crashed"
    assert read_status(run).iteration == 1  # what it published is still there
    assert state(other) == "running"


def test_a_process_that_stands_still_is_stalled_until_it_goes_on(start):
    process, run = start()
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(run) == "stalled")
    assert read_status(run).age_s > 0.05
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: state(run) == "running")


def test_a_loop_that_promises_no_interval_is_stalled_only_when_its_process_stands_still(start):
    process, run = start(
        "session = RunSession(run, lock, publish_interval_s=0)\n"
        'session.metrics.publish({"a": 2.0}, 1, 1)\ntime.sleep(600)'
    )
    wait_for(lambda: read_status(run).metrics == {"a": 2.0} and read_status(run).age_s > 0.5)
    assert state(run) == "running"  # ten times what the publisher promised before
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(run) == "stalled")
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: state(run) == "running")


def test_forked_workers_left_alive_do_not_make_a_dead_process_look_alive(start):
    process, run = start(
        "children = [os.fork() for _ in range(8)] if os.fork() else [time.sleep(600)]\n"
        "time.sleep(600) if 0 in children else work()"
    )
    wait_for(lambda: state(run) == "running")
    children = psutil.Process(process.pid).children()
    assert len(children) == 9
    # A child that was forked this moment has still to let go of the lock.
    lock = str(run.lock_path.resolve())
    wait_for(lambda: not any(lock == file.path for c in children for file in c.open_files()))
    process.kill()
    process.wait()
    assert state(run) == "crashed"


def test_a_deleted_page_is_still_found_through_its_process(start, operant_pages):
    _, run = start()
    for page in operant_pages.iterdir():
        page.unlink()
    assert state(run) == "running"
    assert read_status(run).metrics == {"a": 1.0}


def test_a_run_whose_page_is_not_there_yet_is_starting():
    run, lock = create_run("test", {})
    assert read_status(run) == RunStatus(run.id, "running", message=f"{run.id} has no page yet")
    lock.release()
    assert state(run) == "crashed"


def test_a_crashed_run_that_a_launcher_takes_over_is_resuming_not_stalled():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1e-9)
    session.metrics.publish({"a": 1.0}, 1, 1)
    lock.release()  # as a process that died
    session.metrics.leave()
    assert read_status(run).state == "crashed"
    launcher = RunLock(run.lock_path, LAUNCHER)
    assert (read_status(run).state, read_status(run).message) == ("running", "resuming")
    launcher.release()


def test_a_recorder_that_lives_does_not_make_a_dead_process_look_alive():
    run, lock = create_run("test", {})
    recorder = RunLock(run.lock_path, RECORDER)
    assert recorder.holder()
    lock.release()
    assert recorder.holder() is None
    assert lock_holder(run.lock_path) is None
    assert lock_holder(run.lock_path, RECORDER)
    assert state(run) == "crashed"
    recorder.release()
    assert lock_holder(run.lock_path, RECORDER) is None


def test_a_process_that_lets_go_of_one_lock_or_is_refused_one_keeps_its_others(start):
    process, run = start()
    recorder = RunLock(run.lock_path, RECORDER)
    launcher = RunLock(run.lock_path, LAUNCHER)
    with pytest.raises(RunFolderError, match="in use"):
        RunLock(run.lock_path)
    launcher.release()
    assert lock_holder(run.lock_path).pid == process.pid
    assert seen_by_others(run, RECORDER) == os.getpid()
    run.lock_path.unlink()
    assert recorder.holder().pid == process.pid
    recorder.release()


def seen_by_others(run: Run, byte: int) -> int:
    """The pid that another process finds at a byte of the run's lock."""
    question = (
        "from pathlib import Path\nfrom operant.shared.processes.lock import lock_holder\n"
        f"print(lock_holder(Path({str(run.lock_path)!r}), {byte}).pid)"
    )
    return int(subprocess.run([sys.executable, "-c", question], capture_output=True).stdout)
