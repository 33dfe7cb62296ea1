"""The recorder as a process: it lives and dies beside real runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from command_line import ENDLESS, SHORT, operant, operant_json
from deaths import deaths, report
from kept_rows import kept_rows
from recorded import kill_recorder, publishes, recorder_pid
from waiting import wait_for

from operant.shared.install_command import install_command
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.recorder_process import RecorderSettings
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

pytestmark = [pytest.mark.usefixtures("recorders"), pytest.mark.slow]


@pytest.fixture
def recorded_training(start_training):
    """A run in the foreground that has a recorder and a few rows; returns (process, run)."""
    process, run = start_training("cart_pole_ppo_smoke", *ENDLESS)
    wait_for(lambda: recorder_pid(run) and len(publishes(run)) > 2)
    return process, run


def test_five_processes_killed_at_random_moments_leave_finished_files():
    found = deaths(num_kills=5, seed=20261121)
    assert report(found, seed=20261121)["kills"] == 5
    assert any(death.finished_s for death in found)


def test_a_killed_recorder_changes_nothing_and_another_goes_on(recorded_training):
    process, run = recorded_training
    kill_recorder(run)
    before = publishes(run)
    publish = read_status(run).iteration
    wait_for(lambda: read_status(run).iteration > publish + 20)
    assert read_status(run).state == "running"
    assert publishes(run) == before

    recorder = subprocess.Popen(
        [sys.executable, "-m", "operant", "record", run.id],
        stdout=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: len(publishes(run)) > len(before) + 5)
    after = publishes(run)
    assert after[: len(before)] == before
    assert after == list(range(1, len(after) + 1))
    process.send_signal(signal.SIGINT)
    assert recorder.communicate()[0].splitlines()[-1] == f"{run.id}: stopped, recorded"
    assert kept_rows(run)[-1].env_steps == read_status(run).env_steps


def test_the_recorder_survives_hangup_and_termination_and_no_child_is_left_to_wait_for(
    recorded_training,
):
    process, run = recorded_training
    pid = recorder_pid(run)
    assert os.getsid(pid) not in (os.getsid(0), os.getsid(process.pid))
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        assert str(pid) not in children.read().split()
    for number in (signal.SIGHUP, signal.SIGTERM):
        os.kill(pid, number)
    rows = len(publishes(run))
    wait_for(lambda: len(publishes(run)) > rows + 3)
    assert recorder_pid(run) == pid


@pytest.mark.usefixtures("kill_runs")
def test_a_resumed_run_is_recorded_in_one_line_of_time(start_training):
    process, run = start_training(
        "cart_pole_ppo_smoke", *ENDLESS, "--set", "checkpoint.every_iterations=10"
    )
    wait_for(lambda: run.checkpoint_folder.exists() and list(run.checkpoint_folder.glob("i*")))
    process.kill()
    process.wait()  # and at once, while the recorder of the first process still ends:
    goal = read_status(run).env_steps + 8192
    operant_json("train", "--resume", run.id, "--set", f"total_env_steps={goal}")
    wait_for(lambda: recorder_pid(run) is None and kept_rows(run)[-1].env_steps == goal)
    rows = kept_rows(run)
    assert [row.publish for row in rows] == list(range(1, len(rows) + 1))
    elapsed_s = [row.elapsed_s for row in rows]
    assert elapsed_s == sorted(elapsed_s)
    env_steps = [row.env_steps for row in rows]
    assert env_steps == sorted(env_steps)  # slow learning is published too, between env steps


def test_recording_can_be_switched_off_and_made_up_for_by_hand(monkeypatch):
    monkeypatch.setenv("OPERANT_RECORDER", "off")
    operant("train", "cart_pole_ppo_smoke", *SHORT)
    (run,) = list_runs()
    assert not run.recorder_log_path.exists()
    assert operant("record", run.id).returncode == 0
    assert kept_rows(run)[-1].env_steps == read_status(run).env_steps


def test_a_recorder_that_cannot_be_started_is_a_warning(monkeypatch):
    monkeypatch.setattr("subprocess.run", raise_no_processes)
    run, lock = create_run("test", {})
    warnings = []
    settings = RecorderSettings(to=("wandb",))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    session = RunSession(run, lock, publish_interval_s=1, recorder=settings, warn=warnings.append)
    session.metrics.publish({"a": 1.0})
    assert read_status(run).metrics == {"a": 1.0}
    session.close("finished", 0)
    assert install_command("wandb") in warnings[0]
    assert "no recorder: [Errno 11] no processes" in warnings[1]


def raise_no_processes(*arguments, **options):
    raise OSError(11, "no processes")
