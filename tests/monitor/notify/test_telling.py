"""Real runs, real recorders, a real command: what happens is told, and told once."""

from __future__ import annotations

import shutil
import signal

import pytest
from command_line import operant
from recorded import event_texts, kill_recorder, publishes, recorder_pid
from told import command_into, looping, told_in, write_settings
from waiting import wait_for

from operant.monitor.recorder.recording import is_original
from operant.shared.runs.run_folder import Run

pytestmark = pytest.mark.usefixtures("recorders")


def is_over(run):
    return not run.recording_path.exists() and recorder_pid(run) is None


@pytest.fixture
def told(tmp_path):
    return tmp_path / "told"


def test_a_rule_that_holds_and_a_run_that_finishes_are_told_once_each(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_settings('rules = ["episode/return < 10 after 100"]\n' + command_into(told))
    with looping() as (process, run):
        wait_for(lambda: len(told_in(told)) == 2)
        process.communicate()
        wait_for(lambda: is_over(run))
    *alerts, finish = told_in(told)
    by_metric = {each["metric"]: each for each in alerts}
    assert [each["kind"] for each in alerts] == ["alert", "alert"]
    assert by_metric["loss/value"]["value"] == "21.0"
    assert by_metric["loss/value"]["env_steps"] == "210"
    assert by_metric["episode/return"]["env_steps"] == "100"
    rule = "episode/return < 10 after 100: it is 7.500"
    assert by_metric["episode/return"]["text"] == f"{run.id}: {rule} (at 100 steps)"
    assert (finish["kind"], finish["run"], finish["name"]) == ("finish", run.id, "loop")
    assert (finish["state"], finish["metric"], finish["value"]) == (
        "finished", "episode/return", "7.5",
    )  # fmt: skip
    assert sum("alert: " in text for text in event_texts(run)) == 2

    assert operant("record", run.id).returncode == 0
    assert len(told_in(told)) == 3
    assert not list(tmp_path.rglob("hacked"))  # by the command in the run's own configuration


def test_a_killed_trainer_is_told_as_a_crash_by_its_recorder(told):
    write_settings(command_into(told) + 'on = ["crash", "finish"]')
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        process.kill()
        process.wait()
        wait_for(lambda: is_over(run))
    (crash,) = told_in(told)
    assert (crash["kind"], crash["state"]) == ("crash", "crashed")
    assert crash["text"].startswith(f"{run.id}: crashed: the process ended without saying why")
    assert operant("record", run.id).returncode == 0
    assert len(told_in(told)) == 1


def test_where_the_recorder_was_killed_too_whoever_completes_the_run_tells(told):
    write_settings(command_into(told) + 'on = ["crash"]')
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        kill_recorder(run)
        process.kill()
        process.wait()
    for number in range(2):
        assert operant("runs").returncode == 0, number
        assert not run.recording_path.exists()
        wait_for(lambda: told_in(told))
    assert [each["folder"] for each in told_in(told)] == [str(run.folder)]


def test_a_copy_of_a_run_is_no_news_as_that_may_go_on_elsewhere(tmp_path):
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        process.communicate()
        wait_for(lambda: is_over(run))
    assert is_original(run)
    copy = tmp_path / "elsewhere" / run.id
    shutil.copytree(run.folder, copy)
    assert not is_original(Run(copy))


def test_a_run_that_stalls_is_told_and_what_is_changed_meanwhile_holds(told):
    path = write_settings("stall_after_s = 0\n")
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        write_settings(path.read_text() + command_into(told) + 'on = ["stall"]')
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: told_in(told))
        process.send_signal(signal.SIGCONT)
        process.communicate()
        wait_for(lambda: is_over(run))
    assert {each["kind"] for each in told_in(told)} == {"stall"}
    assert told_in(told)[0]["text"].startswith(f"{run.id}: stalled: no sign of life")
    assert any(text.startswith("alert: stalled: ") for text in event_texts(run))


def test_a_command_that_does_not_end_holds_up_nothing(told):
    write_settings(f"command = 'touch {told}; sleep 1000'\non = [\"alert\"]")
    with looping() as (process, run):
        wait_for(told.exists)
        num_rows = len(publishes(run))
        wait_for(lambda: len(publishes(run)) > num_rows + 3)
        process.communicate()
        wait_for(lambda: not run.recording_path.exists())


@pytest.mark.parametrize("mode", [0o600, 0o620])
def test_what_is_not_told_is_said_once_among_the_events(told, mode):
    path = write_settings("command = 'exit 3'")
    path.chmod(mode)
    with looping() as (process, run):
        wait_for(lambda: any("alert: " in text for text in event_texts(run)))
        process.communicate()
        wait_for(lambda: is_over(run))
    assert told_in(told) == []
    refusal = f"{path} is not used: others can write to {path}: run `chmod go-w {path}`"
    texts = event_texts(run)
    assert texts.count(refusal) == (mode == 0o620)
    failed = any(text.endswith("the command failed with exit code 3") for text in texts)
    assert failed == (mode == 0o600)
