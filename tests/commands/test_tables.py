"""The tables of runs and of a status."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import pytest
from command_line import error_line, operant

from operant.shared.page.schema import Metric
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.run_notes import RunNotes, change_notes
from operant.shared.runs.session import RunSession


@pytest.fixture
def runs():
    made = []
    for name in ("first", "second"):
        run, lock = create_run(name, {"device": "cpu", "config": {"env": "cart_pole"}})
        session = RunSession(run, lock, publish_interval_s=1)
        session.metrics.describe(Metric("speed/x", "frames/s"))
        values = {"episode/return": 12.5, "progress/fraction": 0.25, "speed/x": 1.0}
        session.metrics.publish(values, 3, 12_345)
        session.close("failed" if name == "first" else "finished", 0, f"{name} is over")
        made.append(run)
    return made


def test_runs_is_one_table_with_all_there_is_to_say(runs):
    change_notes(runs[1].folder, lambda notes: RunNotes("wide net", "a note", ("good",)))
    head, second, first = operant("runs").stdout.splitlines()
    assert head.split() == [
        "state", "run", "age", "steps/s", "return", "steps", "device", "done", "about",
    ]  # fmt: skip
    for words in (runs[0].id, "failed", "12.3k", "25.0%", "12.50", "cpu", "first is over"):
        assert words in first
        assert head.find("device") == first.find("   cpu") == second.find("   cpu")
    assert second.startswith("finished  wide net  ")
    assert second.endswith("second is over; #good a note")


def test_a_run_without_a_return_shows_its_main_metric_by_name(runs):
    run, lock = create_run("third", {"config": {}})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"train/loss": 0.75, "train/lr": 1.0}, 3, 12_345)
    session.close("finished", 0)
    head, third, *others = operant("runs").stdout.splitlines()
    assert "metric" in head.split()
    assert "return" not in head.split()
    assert ("0.75" in third, "train/loss" in third) == (True, True)
    assert all("12.50" in line for line in others)


@pytest.mark.parametrize("width", [60])
def test_on_a_terminal_the_table_is_as_wide_as_that(runs, width):
    lines = on_a_terminal(width, "runs")
    assert len(lines) == 3
    assert max(map(len, lines)) <= width
    assert all("cart" in line or runs[0].id[-4:] in line or runs[1].id[-4:] in line
               for line in lines[1:])  # fmt: skip


def on_a_terminal(width, *arguments):
    """Lines that a command prints at a terminal width."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        [sys.executable, "-m", "operant", *arguments], stdin=theirs, stdout=theirs, env=variables
    )
    os.close(theirs)
    said = b""
    try:
        while data := os.read(ours, 65536):
            said += data
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return said.decode().splitlines()


def test_status_is_one_aligned_table_with_units(runs):
    change_notes(runs[0].folder, lambda notes: RunNotes("", "a note", ("good",)))
    name, *lines = operant("status", "first").stdout.splitlines()
    assert name == runs[0].id
    table = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in lines)
    assert (table["state"], table["message"], table["notes"]) == (
        "failed",
        "first is over",
        "#good a note",
    )
    assert (table["env"], table["folder"]) == (
        "cart_pole", str(runs[0].folder),
    )  # fmt: skip
    assert table["progress/fraction"] == "0.2500"
    assert table["speed/x"].split() == ["1.000", "frames/s"]
    values = {line.index(line.split(maxsplit=1)[1]) for line in lines if "/" in line.split()[0]}
    assert len(values) == 1  # all begin in one column


def test_runs_are_sorted_by_a_setting_of_which_the_last_part_is_enough():
    for rate in (1e-4, 1e-2, 1e-3):
        config = {"env": "cart_pole", "ppo": {"learning_rate": rate}, "a": {"x": 1}, "b": {"x": 2}}
        run, lock = create_run("rates", {"config": config})
        session = RunSession(run, lock, publish_interval_s=1, recorder=None)
        session.metrics.publish({"optimizer/learning_rate": 1.0 - rate})
        session.close("finished", 0)
    lines = operant("runs", "--sort", "learning_rate").stdout.splitlines()
    assert lines[0].split()[:4] == ["state", "run", "age", "steps/s"]
    assert lines[0].split()[4] == "ppo.learning_rate"
    assert [float(line.split()[4]) for line in lines[1:]] == [1e-2, 1e-3, 1e-4]
    by_metric = operant("runs", "--sort", "optimizer/learning_rate").stdout
    values = [line.split()[4] for line in by_metric.splitlines()[1:]]
    assert values == ["0.9999", "0.9990", "0.9900"]
    grouped = operant("runs", "--group-by", "learning_rate", "--sort", "learning_rate").stdout
    assert [line.split()[0] for line in grouped.splitlines()[1:]] == [
        "ppo.learning_rate=0.01", "ppo.learning_rate=0.001", "ppo.learning_rate=0.0001",
    ]  # fmt: skip
    assert "--sort x: write one of a.x, b.x" in error_line("runs", "--sort", "x")
    near = "no run has it; did you mean 'learning_rate'?"
    assert near in error_line("runs", "--sort", "learnin_rate")
