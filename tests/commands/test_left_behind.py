"""The next command completes runs that a container or machine left unfinished."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import operant, operant_json
from recorded import event_texts, kill_recorder, recorder_pid
from waiting import wait_for

from operant.shared.processes.lock import RunLock, lock_holder
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

pytestmark = [pytest.mark.usefixtures("recorders"), pytest.mark.slow]

NUM_ROWS = 500
# Logs 500 rows as fast as it can, then what it is told.
SCRIPT = """
import operant, os, sys, time
run = operant.init()
for step in range(500):
    run.log({"loss": step}, step=step, commit=True)
"""
WAIT_AND_FINISH = """
while not os.path.exists(run.dir + '/go'): time.sleep(0.01)
run.finish()
"""
NO_WAITING = "from operant.shared.runs import recorder_process as r; r.WAIT_S = 0"
IN_A_CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def run_script(end: str = "", *before: str) -> Run:
    """Run the script to its end, all of its processes with it where `before` sees to that."""
    done = subprocess.run(
        [*before, sys.executable, "-c", SCRIPT + end],
        capture_output=True,
        text=True,
        check=False,
    )
    if before and not list_runs():
        pytest.skip(f"needs the right to make namespaces: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return list_runs()[0]


def start_script(end: str = "time.sleep(3600)") -> tuple[subprocess.Popen[bytes], Run]:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT + end])
    wait_for(lambda: list_runs() and read_status(list_runs()[0]).env_steps == NUM_ROWS - 1)
    run = list_runs()[0]
    wait_for(lambda: recorder_pid(run))
    return process, run


def kill(*pids: int) -> None:
    for number in (signal.SIGSTOP, signal.SIGKILL):  # none does anything after the other's death
        for pid in pids:
            os.kill(pid, number)


def steps(run: Run) -> list[int]:
    """The steps of all rows in the run's file of rows."""
    reader = RowFileReader(run.rows_path)
    found = [int(step) for batch in reader.batches() for step in batch.env_steps]
    reader.close()
    return found


def is_complete(run: Run) -> bool:
    """Every row once, no page in memory."""
    assert not run.recording_path.exists()
    assert not list(Path(os.environ["OPERANT_PAGES"]).iterdir())
    assert not [path.name for path in run.folder.glob(".*")]
    return steps(run) == list(range(NUM_ROWS))


def test_a_run_that_has_ended_has_all_in_its_folder_when_its_process_is_gone():
    run = run_script()
    assert is_complete(run)
    wait_for(lambda: read_status(run).state == "finished")  # the recorder asks the kernel


def test_what_a_container_ended_before_its_recorder_is_completed_by_the_next_command():
    end = f"{NO_WAITING}; run.alert('over'); run.finish(); os._exit(0)"
    run = run_script(end, *IN_A_CONTAINER)
    assert run.recording_path.exists()  # nobody waited: not all of it is there
    assert [row["state"] for row in operant_json("runs")] == ["finished"]
    assert is_complete(run)
    assert event_texts(run) == ["over"]


def test_a_container_that_is_killed_leaves_a_crashed_run_that_the_next_command_completes(
    operant_pages,
):
    process = subprocess.Popen(
        [*IN_A_CONTAINER, sys.executable, "-c", SCRIPT + "time.sleep(3600)"],
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: process.poll() is not None or list_runs())
    if process.poll() is not None:
        pytest.skip("needs the right to make namespaces")
    (run,) = list_runs()
    wait_for(lambda: read_status(run).env_steps == NUM_ROWS - 1)
    process.kill()
    process.wait()
    wait_for(lambda: lock_holder(run.lock_path) is None and recorder_pid(run) is None)
    assert list(operant_pages.iterdir())
    assert operant_json("status", run.id)["state"] == "crashed"
    assert is_complete(run)
    assert event_texts(run)[-1].startswith("crashed: process")


def test_what_was_killed_with_its_recorder_is_completed_by_the_next_command():
    process, run = start_script()
    kill(process.pid, recorder_pid(run))
    process.wait()
    wait_for(lambda: recorder_pid(run) is None)
    done = operant("monitor", run.id, "--once")
    assert done.returncode == 0, done.stderr
    assert is_complete(run)
    assert event_texts(run)[-1].startswith("crashed: process")
    before = run.rows_path.stat().st_mtime_ns
    assert operant("monitor", run.id, "--once").returncode == 0
    assert run.rows_path.stat().st_mtime_ns == before  # once is enough


def test_a_run_that_lost_its_recorder_does_not_wait_for_it_and_is_completed():
    process, run = start_script(WAIT_AND_FINISH)
    kill_recorder(run)
    Path(run.folder / "go").touch()
    assert process.wait() == 0
    assert run.recording_path.exists()
    operant("status")
    (run.folder / "go").unlink()
    assert is_complete(run)
    assert read_status(run).state == "finished"


# From here on with pages made in this process; what is let go of is as if killed.


@pytest.fixture
def left_behind(monkeypatch):
    """Make a run in a home of its own, and let go of it as if killed; returns the run."""
    sessions = []

    def left_behind(home: Path, dies: bool = True) -> Run:
        monkeypatch.setenv("OPERANT_HOME", str(home))
        run, lock = create_run("test", {})
        session = RunSession(run, lock, publish_interval_s=1.0, recorder=None)
        for step in range(NUM_ROWS):
            session.metrics.publish({"loss": step}, env_steps=step)
        sessions.append(session)
        if dies:
            lock.release()
            session.metrics.leave()
        return run

    yield left_behind
    for session in sessions:
        with contextlib.suppress(OSError):
            session._lock.release()


def pages() -> set[str]:
    return set(os.listdir(os.environ["OPERANT_PAGES"]))


def test_pages_of_another_home_are_drained_to_it_unless_their_run_lives(
    left_behind, tmp_path, monkeypatch
):
    dead, alive = left_behind(tmp_path / "a"), left_behind(tmp_path / "b", dies=False)
    monkeypatch.setenv("OPERANT_HOME", str(tmp_path / "mine"))
    assert operant("runs").returncode == 0
    assert pages() == {f"{alive.id}.page"}
    assert steps(dead) == list(range(NUM_ROWS))
    assert not alive.rows_path.exists()


def test_a_page_whose_run_is_gone_is_deleted_but_not_where_its_home_is_only_out_of_reach(
    left_behind, tmp_path
):
    out_of_reach = left_behind(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "not mounted")
    (tmp_path / "a" / "runs").mkdir(parents=True)  # another folder of that name, as in a container
    gone = left_behind(tmp_path / "b")
    shutil.rmtree(gone.folder)
    assert len(pages()) == 2
    assert operant("runs").returncode == 0
    assert pages() == {f"{out_of_reach.id}.page"}
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "not mounted").rename(tmp_path / "a")
    assert operant("runs").returncode == 0
    assert pages() == set()
    assert steps(out_of_reach) == list(range(NUM_ROWS))


@pytest.mark.parametrize("name", ["..", "backup"])
def test_nothing_is_written_where_no_run_toml_names_the_run(
    left_behind, tmp_path, operant_pages, name
):
    run = left_behind(tmp_path / "a")
    (operant_pages / f"{run.id}.page").rename(operant_pages / f"{name}.page")
    notes = tmp_path / "a" / "runs" / "backup" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    (notes.parent / "recording").touch()  # as a run has it that is not complete
    before = sorted((tmp_path / "a").rglob("*"))
    assert operant("runs").returncode == 0
    assert sorted((tmp_path / "a").rglob("*")) == before
    assert pages() == {f"{name}.page"}


def test_a_page_of_another_user_is_left_alone(left_behind, tmp_path, operant_pages):
    if os.getuid() != 0:
        pytest.skip("needs the right to give a file away")
    run = left_behind(tmp_path / "a")
    os.chown(operant_pages / f"{run.id}.page", 12345, 12345)
    shutil.rmtree(run.folder)
    assert operant("runs").returncode == 0
    assert pages() == {f"{run.id}.page"}


def test_halves_of_pages_are_deleted_once_nobody_can_be_making_them(operant_pages):
    held, old, new = (operant_pages / f".{name}.page.building" for name in ("held", "old", "new"))
    for path in (held, old, new):
        path.write_bytes(b"half")
    lock = RunLock(held)
    long_ago = time.time() - 61.0
    for path in (held, old):
        os.utime(path, (long_ago, long_ago))
    assert operant("runs").returncode == 0
    assert pages() == {held.name, new.name}
    lock.release()


def test_a_run_that_cannot_be_completed_stops_no_command_and_is_tried_again(
    left_behind, tmp_path, operant_pages
):
    run = left_behind(tmp_path / "a")
    run.rows_path.mkdir()  # nothing can be written there
    assert operant("runs").returncode == 0
    assert pages() == {f"{run.id}.page"} or run.page_copy_path.exists()
    run.rows_path.rmdir()
    assert operant("runs").returncode == 0
    assert pages() == set()
    assert steps(run) == list(range(NUM_ROWS))
