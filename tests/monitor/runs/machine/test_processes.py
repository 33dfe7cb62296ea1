"""All processes are sampled, the run of each is known, and a signal reaches the right one alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest
from waiting import wait_for

from operant.monitor.runs.machine import processes
from operant.monitor.runs.machine.processes import ProcessSampler, send_signal
from operant.shared.errors import OperantError
from operant.shared.processes.lock import RECORDER, RunLock
from operant.shared.runs.run_folder import create_run

ME = os.getpid()
A_RUN = """
import time
from operant.shared.runs.run_folder import create_run
run, lock = create_run("other", {}, rank=0)
print(run.id, flush=True)
time.sleep(600)
"""


@pytest.fixture
def start() -> Iterator[object]:
    started = []

    def start(*command: str, **options) -> subprocess.Popen:
        started.append(subprocess.Popen(command, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()


def python(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", "import time; time.sleep(600)", *arguments)


def row_of(pid, sampler=None):
    rows = (sampler or ProcessSampler()).sample()
    return next((row for row in rows if row.pid == pid), None)


def test_a_process_has_its_parent_user_state_memory_and_command(start):
    child = start(*python("a", "b"))
    row = wait_for(lambda: (row := row_of(child.pid)) and row.state == "sleeping" and row)
    assert (row.pid, row.parent, row.user) == (child.pid, ME, psutil.Process().username())
    assert row.command.startswith(sys.executable)
    assert row.command.endswith("a b")
    assert row.memory_bytes > 1 << 20
    assert row.cpu_cores is None
    assert row.member is None


def test_the_load_is_that_since_the_sample_before(start):
    clock = iter([0.0, 2.0, 4.0])
    sampler = ProcessSampler(now=lambda: next(clock))
    assert row_of(ME, sampler).cpu_cores is None
    spent_s = time.process_time()
    while time.process_time() - spent_s < 0.2:
        pass
    assert 0.09 <= row_of(ME, sampler).cpu_cores <= 0.5
    assert row_of(ME, sampler).cpu_cores < 0.1


def test_the_kernels_file_says_what_psutil_says(start, tmp_path):
    odd = tmp_path / "a) S (b"  # a name with what surrounds names
    shutil.copy(shutil.which("sleep"), odd)
    child = start(odd, "600")
    wait_for(lambda: psutil.Process(child.pid).name() == odd.name)
    wait_for(lambda: psutil.Process(child.pid).status() == psutil.STATUS_SLEEPING)
    read, expected = (read(child.pid) for read in (processes._read_stat, processes._read_by_psutil))
    assert read._replace(start=0, memory_bytes=0) == expected._replace(start=0, memory_bytes=0)
    assert read.memory_bytes == pytest.approx(expected.memory_bytes, rel=0.2)
    assert read.name == odd.name


@pytest.mark.parametrize("read", [processes._read_stat, processes._read_by_psutil])
def test_a_process_that_is_gone_has_no_reading(read):
    child = subprocess.Popen(["true"])
    child.wait()
    assert read(child.pid) is None


def test_a_process_that_executes_another_program_gets_its_command(start):
    child = start("/bin/sh", "-c", "read line; exec sleep 600", stdin=subprocess.PIPE)
    sampler = ProcessSampler()
    wait_for(lambda: "read line" in row_of(child.pid, sampler).command)
    child.stdin.write(b"\n")
    child.stdin.flush()
    assert wait_for(lambda: row_of(child.pid, sampler).command == "sleep 600")


def test_a_process_without_a_command_line_has_its_name_in_brackets(start):
    child = start("true")
    row = wait_for(lambda: (row := row_of(child.pid)) and row.state == "zombie" and row)
    assert row.command == "[true]"


def test_a_long_command_is_cut(start):
    child = start(*python("x" * 5000))
    assert len(row_of(child.pid).command) == processes.MAX_COMMAND


def test_what_a_trainer_starts_belongs_to_its_run(make_session, start):
    run = make_session("mine").run
    child = start(*python())
    worker = start(*python("-P", "-m", "operant.trainer.envs.workers"))
    grandchild = start("/bin/sh", "-c", "sleep 600; true")
    below = wait_for(lambda: psutil.Process(grandchild.pid).children())[0].pid
    rows = {row.pid: row for row in ProcessSampler().sample()}
    roles = {pid: rows[pid].member.role for pid in (ME, child.pid, worker.pid, below)}
    assert roles == {ME: "trainer", child.pid: "child", worker.pid: "worker", below: "child"}
    assert {rows[pid].member.run for pid in roles} == {run}
    assert rows[os.getppid()].member is None


def test_a_run_below_another_one_is_its_own(make_session, start):
    make_session("mine")
    other = start(sys.executable, "-c", A_RUN, stdout=subprocess.PIPE, text=True)
    run_id = other.stdout.readline().strip()
    member = row_of(other.pid).member
    assert (member.run.id, member.role, member.is_trainer) == (run_id, "trainer", True)


def test_recorders_are_named():
    run, lock = create_run("recorded", {}, rank=0)
    member = row_of(ME).member
    assert (member.role, member.is_trainer) == ("trainer", True)
    lock.release()
    recorder = RunLock(run.lock_path, RECORDER)
    member = row_of(ME).member
    assert (member.role, member.is_trainer) == ("recorder", False)
    recorder.release()
    assert row_of(ME).member is None


def test_an_ended_run_that_is_resumed_is_seen_again():
    run, lock = create_run("again", {}, rank=0)
    lock.release()
    sampler = ProcessSampler()
    assert row_of(ME, sampler).member is None
    lock = RunLock(run.lock_path, 0)
    assert row_of(ME, sampler).member.run == run
    lock.release()
    assert row_of(ME, sampler).member is None


def test_a_signal_reaches_the_process(start):
    child = start(*python())
    row = row_of(child.pid)
    send_signal(row, signal.SIGSTOP)
    wait_for(lambda: row_of(child.pid).state == "stopped")
    send_signal(row, signal.SIGCONT)
    wait_for(lambda: row_of(child.pid).state == "sleeping")
    send_signal(row, signal.SIGTERM)
    assert child.wait() == -signal.SIGTERM


def test_a_process_that_has_ended_is_not_signalled(start):
    child = start(*python())
    row = row_of(child.pid)
    child.kill()
    child.wait()
    with pytest.raises(OperantError, match=f"process {child.pid} has ended: SIGTERM was not sent"):
        send_signal(row, signal.SIGTERM)


def test_another_process_of_the_same_number_is_not_signalled(start, monkeypatch):
    """The row is of a process that was started at another time."""
    child = start(*python())
    row = row_of(child.pid)
    pid, started = row.process._ident
    monkeypatch.setattr(row.process, "_ident", (pid, started - 1))
    with pytest.raises(OperantError, match=f"process {child.pid} has ended: SIGKILL was not sent"):
        send_signal(row, signal.SIGKILL)
    assert child.poll() is None


def test_a_process_of_another_user_is_an_error_of_one_line(start, monkeypatch):
    row = row_of(start(*python()).pid)._replace(user="root")

    def refuse(pid, number):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    with pytest.raises(OperantError) as caught:
        send_signal(row, signal.SIGTERM)
    monkeypatch.undo()
    expected = f"process {row.pid} of user root: you are not allowed to send it SIGTERM"
    assert str(caught.value) == expected
