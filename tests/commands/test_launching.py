"""Who waits for what while a run in the background begins."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from command_line import PATIENCE_S

from operant.commands.helpers import launching
from operant.shared.console.console_file import time_of
from operant.shared.errors import OperantError
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


@pytest.fixture
def begun():
    """A run whose page is there, before it has published anything."""
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    yield run, session
    session.close("finished", 0, "")


def process(pid=0, exit_code=None):
    return SimpleNamespace(pid=pid or os.getpid(), poll=lambda: exit_code)


def test_the_monitor_has_a_page_to_open_before_anything_is_published(begun):
    run, _ = begun
    assert launching.has_page_of(run, process())
    assert not launching.has_page_of(run, process(pid=1))  # of a run that this one goes on from


def test_until_a_run_publishes_lines_say_what_it_does(begun, monkeypatch, capsys):
    run, _ = begun
    status = SimpleNamespace(
        phase="compiling", phase_done=9, phase_total=14, phase_unit="loops", phase_left_s=40.0,
        env_steps=None,
    )  # fmt: skip
    monkeypatch.setattr(launching, "read_status", lambda _: status)
    waiting = launching.Waiting(run, now=lambda: 9.0)
    assert not waiting.is_over()
    assert capsys.readouterr() == ("", f"{run.id}: compiling 9 of 14 loops, about 40s left\n")
    status.env_steps = 0
    assert waiting.is_over()


def test_a_run_that_dies_without_numbers_is_an_error_with_the_end_of_its_console(begun, capsys):
    run, session = begun
    run.console_path().write_text("no torch today\n")
    launching.raise_if_dead(run, process())  # it lives
    with pytest.raises(OperantError, match="died before its first publish"):
        launching.raise_if_dead(run, process(exit_code=1))
    assert capsys.readouterr().out == "no torch today\n"
    session.metrics.publish({}, 1, 128)
    launching.raise_if_dead(run, process(exit_code=1))  # it has numbers to show


def test_the_console_of_a_trainer_that_dies_before_it_trains_is_as_any(monkeypatch):
    monkeypatch.delenv("OPERANT_CONSOLE", raising=False)
    run, lock = create_run("test", {"config": {"env": "password=hunter2hunter2"}})
    lock.release()
    with run.console_path().open("ab") as console:
        command = [sys.executable, "-m", "operant.commands.helpers.trainer_process", run.folder]
        subprocess.run(command, stdout=console, stderr=console, timeout=PATIENCE_S, check=False)
    lines = run.console_path().read_text().splitlines()
    assert [line for line in lines if not time_of(line)] == []
    assert "ConfigError" in lines[-1]
    assert "password=***" in "".join(lines)
    assert "hunter2" not in "".join(lines)
