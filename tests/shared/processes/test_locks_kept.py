"""A trainer's lock is lost with the trainer and with nothing else, whatever its process does."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from recorded import recorder_pid
from waiting import wait_for

from operant.shared import RunFolderError, UsageError
from operant.shared.processes.host import process_start
from operant.shared.processes.lock import RECORDER, RunLock, lock_holder
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.status import read_status

# A trainer that runs the lines it is sent, and says when each is done.
TRAINER = """
import multiprocessing, os, shutil, subprocess, sys, tarfile, threading, time, traceback
import operant

def work():
    while True:
        run.log({"loss": 1.0})
        time.sleep(0.02)

def copy(to):
    # What the recorder makes for a moment may be gone when its turn comes.
    passing = shutil.ignore_patterns(".*", "*-wal", "*-shm", "*-journal")
    shutil.copytree(run.dir, to, ignore=passing)

def archive(to):
    with tarfile.open(to, "w") as tar:
        for name in ("run.toml", "lock", "place.json"):
            tar.add(os.path.join(run.dir, name))

if __name__ == "__main__":
    run = operant.init()
    threading.Thread(target=work, daemon=True).start()
    print(run.dir, flush=True)
    for line in sys.stdin:
        try:
            exec(line.replace("; NEWLINE ", "\\n"))
        except BaseException:
            traceback.print_exc()
            print("failed", flush=True)
            continue
        print("done", flush=True)
"""

HARMLESS = {
    "a copy of the run's folder": "copy(sys.argv[1])",
    "a tar archive of it": "archive(sys.argv[1] + '.tar')",
    "another program that archives it": (
        "subprocess.run(['tar', 'cf', sys.argv[1] + '.2.tar', run.dir], check=False)"
    ),
    "its lock opened and closed": "open(run.dir + '/lock', 'rb').close()",
    "its lock opened to write and closed": "open(run.dir + '/lock', 'ab').close()",
    "a forked child that ends": (
        "pid = os.fork(); NEWLINE if pid == 0: os._exit(0); NEWLINE os.waitpid(pid, 0)"
    ),
    "a forked child that closes all it has": (
        "pid = os.fork(); NEWLINE if pid == 0: os.closerange(3, 4096) or os._exit(0); NEWLINE "
        "os.waitpid(pid, 0)"
    ),
    "a program that inherits descriptors": (
        "subprocess.run(['true'], close_fds=False, check=True)"
    ),
    "a process of multiprocessing, forked": (
        "p = multiprocessing.get_context('fork').Process(target=print, args=()); p.start(); "
        "p.join()"
    ),
    "a process of multiprocessing, spawned": (
        "p = multiprocessing.get_context('spawn').Process(target=len, args=('',)); p.start(); "
        "p.join()"
    ),
    "a status of its own run": (
        "subprocess.run([sys.executable, '-m', 'operant', 'status', run.id], check=True, "
        "stdout=subprocess.DEVNULL)"
    ),
}  # fmt: skip

# Each leaves a process behind that lives on.
CHILDREN = {
    "a forked child": "pid = os.fork(); NEWLINE if pid == 0: time.sleep(3600)",
    "a fork of a fork": (
        "pid = os.fork(); NEWLINE if pid == 0: os.fork() or time.sleep(3600); time.sleep(3600)"
    ),
    "a forked worker": (
        "multiprocessing.get_context('fork').Process(target=time.sleep, args=(3600,)).start()"
    ),
    "a program that inherits descriptors": ("subprocess.Popen(['sleep', '3600'], close_fds=False)"),
    "a program started without a fork": (
        "os.posix_spawn('/bin/sleep', ['sleep', '3600'], os.environ)"
    ),
    "a forked child that becomes another program": (
        "pid = os.fork(); NEWLINE if pid == 0: os.execv('/bin/sleep', ['sleep', '3600'])"
    ),
}


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """A trainer with its recorder; returns (process, run, tell), where `tell` runs a line in it."""
    monkeypatch.setenv("OPERANT_RECORDER", "on")
    script = tmp_path / "trainer.py"
    script.write_text(TRAINER)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "copy")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    run = Run(Path(process.stdout.readline().strip()))

    def tell(line: str) -> None:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        while (answer := process.stdout.readline().strip()) != "done":
            assert answer != "failed", line

    wait_for(lambda: recorder_pid(run) and read_status(run).iteration)
    yield process, run, tell
    recorder = recorder_pid(run)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    if recorder:
        wait_for(lambda: recorder_pid(run) is None)


def test_nothing_that_the_process_opens_copies_or_starts_loses_its_lock(trainer, operant_pages):
    process, run, tell = trainer
    recorder = recorder_pid(run)
    for what, line in HARMLESS.items():
        tell(line)
        assert lock_holder(run.lock_path).pid == process.pid, what
        assert recorder_pid(run) == recorder, what
        assert read_status(run).state == "running", what
        with pytest.raises(RunFolderError, match="in use by another process"):
            RunLock(run.lock_path)
    assert [page.name for page in operant_pages.iterdir()] == [f"{run.id}.page"]
    with pytest.raises(UsageError, match="still running"):
        begun_again(run)


def begun_again(run: Run) -> None:
    from operant.shared.integrations.begin import Wanted, begin_run

    begin_run(Wanted("again", id=run.id, resume="must"))


def test_no_child_that_is_left_keeps_the_lock_of_a_dead_trainer(trainer):
    process, run, tell = trainer
    for line in CHILDREN.values():
        tell(line)
    process.kill()
    process.wait()
    # On a busy machine a child may not have come to its first instruction by now.
    wait_for(lambda: lock_holder(run.lock_path) is None)
    assert read_status(run).state == "crashed"


def test_a_copy_of_a_run_that_lives_is_not_alive_and_does_it_no_harm(
    trainer, tmp_path, monkeypatch, operant_pages
):
    _, run, tell = trainer
    tell("copy(sys.argv[1])")
    beside = Run(run.folder.with_name("copy-of-it"))
    shutil.copytree(tmp_path / "copy", beside.folder)
    elsewhere = Run(tmp_path / "other" / "runs" / run.id)
    shutil.copytree(tmp_path / "copy", elsewhere.folder)
    for copy, home in ((beside, os.environ["OPERANT_HOME"]), (elsewhere, tmp_path / "other")):
        environment = {**os.environ, "OPERANT_HOME": str(home), "OPERANT_RECORDER": "off"}
        for command in ("status", "runs", "record"):
            arguments = [command] if command == "runs" else [command, copy.id]
            subprocess.run(
                [sys.executable, "-m", "operant", *arguments], env=environment, check=False
            )
        assert lock_holder(copy.lock_path) is None
        assert not read_status(copy).is_alive
    assert (operant_pages / f"{run.id}.page").exists()
    assert read_status(run).state == "running"


def test_a_lock_is_taken_once_by_a_process_too():
    run, lock = create_run("test", {})
    with pytest.raises(RunFolderError, match="in use by this process"):
        RunLock(run.lock_path)
    assert lock_holder(run.lock_path).pid == os.getpid()
    lock.release()
    RunLock(run.lock_path).release()
    assert lock_holder(run.lock_path) is None


def test_a_lock_whose_descriptor_was_closed_by_others_is_lost_and_closes_nothing_else(tmp_path):
    run, lock = create_run("test", {})
    os.close(lock._fd)
    other = os.open(tmp_path / "other", os.O_CREAT | os.O_RDWR)
    assert other == lock._fd  # the lowest number that is free
    assert lock_holder(run.lock_path) is None
    lock.release()
    os.fstat(other)
    os.close(other)


@pytest.mark.parametrize("claim", ["another process", "a process that is gone", "damaged", "short"])
def test_a_holder_is_named_only_if_it_can_be_true(claim, monkeypatch):
    run, lock = create_run("test", {})
    other = subprocess.Popen(["sleep", "3600"])
    start = process_start(other.pid)
    # byte, process, its start, boot, namespace of process numbers, its descriptor of the file
    record = bytearray(run.lock_path.read_bytes()[:48])
    assert struct.unpack_from("<II", record) == (0, os.getpid())
    if claim == "a process that is gone":
        other.kill()
        other.wait()
    struct.pack_into("<IQ", record, 4, other.pid, start)
    data = bytes(record[:44]) + zlib.crc32(record[:44]).to_bytes(4, "little")
    if claim == "damaged":
        data = bytes([*data[:-1], data[-1] ^ 1])
    with run.lock_path.open("r+b") as file:
        file.write(data)
        if claim == "short":
            file.truncate(12)
    asked = subprocess.run(
        [
            sys.executable, "-c",
            "import sys\nfrom pathlib import Path\n"
            "from operant.shared.processes.lock import lock_holder\n"
            "print(lock_holder(Path(sys.argv[1])))",
            str(run.lock_path),
        ],
        capture_output=True, text=True,
    )  # fmt: skip
    other.kill()
    other.wait()
    assert asked.stdout.strip() == "Holder(pid=0)"
    lock.release()


def test_runs_keep_their_order_when_a_lock_is_taken_again():
    runs = [create_run("test", {}) for _ in range(2)]
    for _, lock in runs:
        lock.release()
    before = [run.lock_path.stat().st_mtime_ns for run, _ in runs]
    for byte in (0, RECORDER):
        RunLock(runs[0][0].lock_path, byte).release()
    assert [run.lock_path.stat().st_mtime_ns for run, _ in runs] == before
