"""Whatever becomes of the storage, training goes on and readers raise nothing but PageError."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ENDLESS
from mounts import cover_by_read_only, fill, tmpfs
from waiting import wait_for

from operant.monitor.runs.reading.run_poller import RunPoller
from operant.shared.runs.find_runs import latest_run, list_runs
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

pytestmark = pytest.mark.slow

NOBODY = 65534


@pytest.fixture
def small_memory(tmp_path, monkeypatch):
    """$OPERANT_PAGES on a tmpfs of 1 MiB."""
    with tmpfs(tmp_path / "small", "1m") as folder:
        monkeypatch.setenv("OPERANT_PAGES", str(folder))
        yield folder


@pytest.fixture
def small_home(tmp_path, monkeypatch):
    """$OPERANT_HOME on a tmpfs of 16 MiB."""
    with tmpfs(tmp_path / "small-home", "16m") as folder:
        monkeypatch.setenv("OPERANT_HOME", str(folder))
        yield folder


@pytest.fixture
def train():
    """Start training in the foreground; returns (process, run) once it has published."""
    processes = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], Run]:
        process = subprocess.Popen(
            [sys.executable, "-m", "operant", "train", "cart_pole_ppo_smoke", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        wait_for(lambda: list_runs() and read_status(latest_run()).iteration)
        return process, latest_run()

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def goes_on(run: Run) -> bool:
    """Whether the run publishes at least one more iteration."""
    before = read_status(run).iteration
    return wait_for(lambda: read_status(run).iteration > before)


def test_without_room_for_a_page_the_run_warns_once_and_is_watched_all_the_same(small_memory):
    run, lock = create_run("test", {})
    warnings = []
    session = RunSession(run, lock, publish_interval_s=5.0, warn=warnings.append)
    (warning,) = warnings
    assert "a page needs" in warning
    assert "1.0 MiB are free" in warning
    session.metrics.publish({"a": 1.0}, 1, 1)
    assert read_status(run).metrics == {"a": 1.0}
    assert read_status(run).state == "running"
    session.close("finished", 0)
    assert read_status(run).state == "finished"
    assert not list(small_memory.iterdir())


def test_a_process_that_may_write_no_large_file_keeps_its_page_to_itself(tmp_path):
    code = """
import operant
operant.init("small")
operant.log({"a": 1.0})
operant.log({"a": 2.0})
operant.finish()
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )
    assert done.stdout == "done\n"
    assert "training goes on" in done.stderr
    assert "nothing of it is kept" not in done.stderr
    assert Run(latest_run().folder).manifest()["summary"] == {"a": 2.0}


def test_a_page_on_memory_that_fills_up_later_is_written_all_the_same(tmp_path, monkeypatch, train):
    with tmpfs(tmp_path / "pages", "32m") as folder:
        monkeypatch.setenv("OPERANT_PAGES", str(folder))
        process, run = train(*ENDLESS)
        fill(folder)
        for _ in range(20):
            assert goes_on(run)
        assert process.poll() is None
        process.terminate()
        process.wait()


@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_a_disk_that_is_lost_during_the_run_stops_nothing(small_home, train, trouble):
    process, run = train(*ENDLESS, "--set", "checkpoint.every_iterations=5")
    wait_for(lambda: list(run.checkpoint_folder.glob("*.pt")))
    if trouble == "full":
        fill(small_home)
    else:
        cover_by_read_only(run.checkpoint_folder)
    for _ in range(20):
        assert goes_on(run)
    poller = RunPoller(run)
    wait_for(lambda: any(event.level == "error" for event in poller.poll().events))
    poller.close()
    process.terminate()
    process.wait()
    # Asked to stop, it cannot keep what it learned since, and says so. A page whose copy finds no
    # room stays where it is.
    assert process.returncode == 1
    status = read_status(run)
    assert status.state == "failed"
    assert "No space left" in status.message or "Read-only" in status.message


def test_a_page_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    if os.getuid() != 0:
        pytest.skip("needs the right to give a folder away")
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    monkeypatch.setenv("OPERANT_PAGES", str(folder))
    run, lock = create_run("test", {})
    warnings = []
    RunSession(run, lock, publish_interval_s=5.0, warn=warnings.append).close("finished", 0)
    assert "belongs to another user" in warnings[0]
    assert not list(folder.iterdir())


@pytest.mark.untraced
def test_a_user_sees_and_reads_only_their_own_runs(operant_home, operant_pages, monkeypatch):
    if os.getuid() != 0:
        pytest.skip("needs the right to become another user")
    run, lock = create_run("mine", {})
    session = RunSession(run, lock, publish_interval_s=5.0)
    session.metrics.publish({"a": 1.0}, 1, 1)
    page = session.metrics.path
    reads = f"""
import os
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
for path in ({str(page)!r}, {str(run.lock_path)!r}, "/proc/{os.getpid()}/fd/{session.metrics.fd}"):
    try:
        open(path).close()
        print("could read", path)
    except OSError as error:
        pass
try:
    print("could list", os.listdir({str(operant_pages)!r}))
except OSError:
    pass
"""
    # Only the runs' own rights may keep others out, not those of the folder above them.
    Path(operant_home).parent.chmod(0o755)
    asked = subprocess.run([sys.executable, "-c", reads], capture_output=True, text=True)
    assert (asked.stdout, asked.stderr) == ("", "")
    session.close("finished", 0)
