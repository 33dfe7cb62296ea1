"""A disk that takes nothing, or loses a run, ends no loop and hides none; the user is told once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from command_line import operant, operant_json
from mounts import close_to_writing, fill, tmpfs
from recorded import delete_folder, recorder_pid
from waiting import wait_for

import operant as operant_module
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.status import read_status

pytestmark = pytest.mark.slow

LOOP = """
import operant, os, sys, time
run = operant.init(config={"lr": 0.1})
step = 0
while not os.path.exists(sys.argv[1]):
    step += 1
    run.log({"loss": 1.0}, step=step)
    run.config.step = step
    time.sleep(0.01)
"""


@pytest.fixture
def small_home(tmp_path, monkeypatch):
    with tmpfs(tmp_path / "small-home", "1m") as folder:
        monkeypatch.setenv("OPERANT_HOME", str(folder))
        yield folder


@pytest.fixture
def loop(tmp_path):
    """Start a loop; returns (process, end), where `end` has it end and gives what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-c", LOOP, str(tmp_path / "end")], stderr=subprocess.PIPE, text=True
    )

    def end() -> str:
        (tmp_path / "end").touch()
        return process.communicate()[1]

    wait_for(lambda: list_runs() and read_status(list_runs()[0]).env_steps)
    yield process, end
    process.kill()
    process.wait()
    process.stderr.close()


def goes_on(run) -> bool:
    before = read_status(run).env_steps
    return wait_for(lambda: (read_status(run).env_steps or 0) > before + 3)


@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_a_loop_whose_disk_takes_nothing_is_watched_all_the_same(
    small_home, capfd, trouble, operant_pages
):
    fill(small_home) if trouble == "full" else close_to_writing(small_home)
    run = operant_module.init(config={"lr": 0.1})
    run.log({"loss": 2.0}, step=7)
    run.flush()
    status = operant_json("status")
    assert (status["id"], status["state"]) == (run.id, "running")
    assert status["metrics"] == {"loss": 2.0}
    assert [row["id"] for row in operant_json("runs")] == [run.id]
    run.finish()
    assert read_status(list_runs()[0]).state == "finished"
    (warning,) = capfd.readouterr().err.splitlines()
    assert "cannot write runs to" in warning
    assert "the loop goes on, kept in memory" in warning
    assert not list(operant_pages.glob("*.page"))


def test_without_any_room_nothing_is_kept_and_that_is_said_once(
    small_home, tmp_path, monkeypatch, capfd
):
    with tmpfs(tmp_path / "pages", "64k") as pages:
        monkeypatch.setenv("OPERANT_PAGES", str(pages))
        fill(small_home)
        fill(pages)
        run = operant_module.init()
        run.log({"loss": 2.0}, step=7)
        run.finish()
        assert run.id == ""
        assert os.listdir(pages) == ["filler"]
    (warning,) = capfd.readouterr().err.splitlines()
    assert "nothing of it is kept" in warning


@pytest.mark.parametrize("recorder", ["on", "off"])
def test_a_run_whose_folder_is_deleted_goes_on_and_is_seen(
    recorder, monkeypatch, request, operant_pages
):
    monkeypatch.setenv("OPERANT_RECORDER", recorder)
    _, end = request.getfixturevalue("loop")
    (run,) = list_runs()
    recorded = recorder == "on" and wait_for(lambda: recorder_pid(run))
    delete_folder(run)
    assert goes_on(run)
    status = operant_json("status", run.id)
    assert (status["state"], status["message"]) == ("running", "its folder was deleted")
    assert [row["id"] for row in operant_json("runs")] == [run.id]
    assert operant("monitor", run.id, "--once").returncode == 0
    assert goes_on(run)  # looking did it no harm
    printed = end()
    assert printed.count("was deleted during the run: nothing of it is kept") == 1
    assert len(printed.splitlines()) == 1
    assert list_runs() == []
    assert not list(operant_pages.iterdir())
    if recorded:
        wait_for(lambda: not os.path.exists(f"/proc/{recorded}"))
    assert not run.folder.exists()


def test_a_run_without_its_folder_can_be_stopped(loop, operant_pages):
    process, _ = loop
    (run,) = list_runs()
    delete_folder(run)
    assert operant("stop", run.id).returncode == 0
    assert process.wait() == -signal.SIGTERM
    assert not list(operant_pages.iterdir())


def test_a_run_whose_lock_is_deleted_is_still_its_own(loop):
    _, end = loop
    run = list_runs()[0]
    run.lock_path.unlink()
    for _ in range(2):  # the first of these would have completed it, and so made another lock
        status = read_status(run)
        assert (status.state, status.message) == ("running", "its lock was deleted")
        assert "running" in operant("runs").stdout
    assert operant("train", "--resume", run.id).returncode == 2
    assert goes_on(run)
    assert "Traceback" not in end()
    assert read_status(run).state == "ended"
    assert not run.events_path.exists()  # where a crash would be told of


def test_a_run_killed_after_its_folder_was_deleted_leaves_no_page(loop, operant_pages):
    process, _ = loop
    (run,) = list_runs()
    delete_folder(run)
    assert goes_on(run)
    process.kill()
    process.wait()
    assert list_runs() == []
    assert operant("runs").returncode == 0
    assert not list(operant_pages.iterdir())
