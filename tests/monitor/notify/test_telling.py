"""Real runs, real recorders, a real server: what happens is told, and told once."""

from __future__ import annotations

import shutil
import signal

import pytest
from command_line import operant
from recorded import event_texts, kill_recorder, publishes, recorder_pid
from told import looping, write_settings
from waiting import wait_for

from operant.monitor.notify.original import is_original
from operant.shared.runs.run_folder import Run

pytestmark = pytest.mark.usefixtures("recorders")


def is_over(run):
    return not run.recording_path.exists() and recorder_pid(run) is None


def test_a_rule_that_holds_and_a_run_that_finishes_are_told_once_each(server, tmp_path):
    told = tmp_path / "told"
    write_settings(f"""
        rules = ["episode/return < 10 after 100"]
        [[tell]]
        webhook = "{server.url}"
        [[tell]]
        command = 'echo "$OPERANT_EVENT_KIND $OPERANT_EVENT_VALUE" >> {told}'
        on = ["rule", "finish"]
    """)
    with looping() as (process, run):
        wait_for(lambda: len(server.posted) == 2)
        process.communicate()
        wait_for(lambda: is_over(run))
    by_metric = {told["metric"]: told for told in server.posted if told["kind"] == "alert"}
    assert server.kinds == ["alert", "alert", "finish"]
    assert by_metric["loss/value"]["value"] == 21.0
    assert by_metric["loss/value"]["env_steps"] == 210
    assert by_metric["episode/return"]["env_steps"] == 100
    rule = "episode/return < 10 after 100: it is 7.500"
    assert by_metric["episode/return"]["text"] == f"{run.id}: {rule} (at 100 steps)"
    finish = server.posted[-1]
    assert (finish["run"], finish["name"], finish["state"]) == (run.id, "loop", "finished")
    assert (finish["metric"], finish["value"]) == ("episode/return", 7.5)
    assert sorted(told.read_text().split("\n"))[1:] == ["alert 21.0", "alert 7.5", "finish 7.5"]
    assert sum("alert: " in text for text in event_texts(run)) == 2

    assert operant("record", run.id).returncode == 0
    assert len(server.posted) == 3


def test_nothing_that_a_run_says_is_ever_run(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_settings(f'[[tell]]\nwebhook = "{server.url}"\non = ["finish"]')
    with looping() as (process, run):
        wait_for(lambda: any("alert: " in text for text in event_texts(run)))
        process.communicate()
        wait_for(lambda: is_over(run))
    assert server.kinds == ["finish"]
    assert not list(tmp_path.rglob("hacked"))


def test_a_killed_trainer_is_told_as_a_crash_by_its_recorder(server):
    write_settings(f'[[tell]]\nwebhook = "{server.url}"\non = ["crash", "finish"]')
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        process.kill()
        process.wait()
        wait_for(lambda: is_over(run))
    (crash,) = server.posted
    assert (crash["kind"], crash["state"]) == ("crash", "crashed")
    assert crash["text"].startswith(f"{run.id}: crashed: the process is gone without a last word")
    assert operant("record", run.id).returncode == 0
    assert len(server.posted) == 1


def test_where_the_recorder_was_killed_too_whoever_completes_the_run_tells(server):
    write_settings(f'[[tell]]\nwebhook = "{server.url}"\non = ["crash"]')
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        kill_recorder(run)
        process.kill()
        process.wait()
    for number in range(2):
        assert operant("runs").returncode == 0, number
        assert not run.recording_path.exists()
        wait_for(lambda: server.posted)
    assert [told["folder"] for told in server.posted] == [str(run.folder)]


def test_a_copy_of_a_run_is_no_news_as_that_may_go_on_elsewhere(tmp_path):
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        process.communicate()
        wait_for(lambda: is_over(run))
    assert is_original(run)
    copy = tmp_path / "elsewhere" / run.id
    shutil.copytree(run.folder, copy)
    assert not is_original(Run(copy))


def test_a_run_that_stalls_is_told_and_what_is_changed_meanwhile_holds(server):
    path = write_settings("stall_after_s = 0")
    with looping() as (process, run):
        wait_for(lambda: publishes(run))
        write_settings(f'{path.read_text()}\n[[tell]]\nwebhook = "{server.url}"\non = ["stall"]')
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: server.posted)
        process.send_signal(signal.SIGCONT)
        process.communicate()
        wait_for(lambda: is_over(run))
    assert set(server.kinds) == {"stall"}
    assert server.posted[0]["text"].startswith(f"{run.id}: stalled: no sign of life")
    assert any(text.startswith("alert: stalled: ") for text in event_texts(run))


def test_a_server_that_never_answers_holds_up_nothing(server):
    server.is_mute = True
    write_settings(f"""
        [[tell]]
        webhook = "{server.url}"
        on = ["alert"]
        timeout_s = 0.5
    """)
    with looping() as (process, run):
        wait_for(lambda: server.posted)
        num_rows = len(publishes(run))
        wait_for(lambda: len(publishes(run)) > num_rows + 3)
        note = "webhook 127.0.0.1 was not told"
        wait_for(lambda: any(text.startswith(note) for text in event_texts(run)))
        process.communicate()
        wait_for(lambda: is_over(run))
    assert len(server.posted) == 1  # it may have arrived, so it is not said again
    (told,) = (text for text in event_texts(run) if text.startswith(note))
    assert told.endswith(": no answer within 0.5 s; it may have arrived")


def test_settings_that_others_can_write_to_are_refused_and_said(server):
    path = write_settings(f'[[tell]]\nwebhook = "{server.url}"')
    path.chmod(0o620)
    with looping() as (process, run):
        wait_for(lambda: any("alert: " in text for text in event_texts(run)))
        process.communicate()
        wait_for(lambda: is_over(run))
    assert server.posted == []
    refusal = f"{path} is not used: others can write to {path}: run `chmod go-w {path}`"
    assert event_texts(run).count(refusal) == 1
