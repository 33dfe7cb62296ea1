"""`operant monitor --once` and `operant status --follow`, without a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from command_line import PATIENCE_S, error_line, operant

from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


@pytest.fixture
def session():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=100.0)
    for number in range(1, 60):
        values = {"episode/return": float(number), "loss/\x1b[31mred": 1.0, "time/publish_s": 1e-5}
        session.metrics.publish(values, number, 100 * number)
    session.metrics.publish({"loss/policy": float("nan")}, 60, 6000)
    session.metrics.event("warning", "careful\x1b[2J")
    yield session
    session.close("stopped", 0)


def test_once_prints_one_plain_report(session):
    done = operant("monitor", session.run.id, "--once")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    for words in ("running", "episode/return", "59.00", "careful", "60 publishes", "no recorder"):
        assert words in done.stdout


def test_follow_prints_a_line_for_every_snapshot_until_the_run_ends(session):
    command = [sys.executable, "-m", "operant", "status", session.run.id, "--follow", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    first = json.loads(process.stdout.readline())
    session.metrics.publish({"episode/return": 100.0}, 61, 6100)
    second = json.loads(process.stdout.readline())
    session.close("finished", 0, "done")
    rest, _ = process.communicate(timeout=PATIENCE_S)
    lines = [first, second, *map(json.loads, rest.splitlines())]
    assert [line["iteration"] for line in lines] == [60, 61, 61]
    assert lines[-1]["state"] == "finished"
    assert process.returncode == 0


def test_a_picture_has_what_the_screen_shows_and_the_runs_beside_it(session, tmp_path):
    other, lock = create_run("other", {})
    beside = RunSession(other, lock, publish_interval_s=100.0)
    beside.metrics.publish({"episode/return": 1.0}, 1, 100)
    path = tmp_path / "picture.svg"
    runs = (session.run.id, other.id)
    done = operant("monitor", *runs, "--once", "-o", str(path), "--size", "90x30")
    beside.close("finished", 0)
    assert done.returncode == 0, done.stderr
    text = "".join(ElementTree.parse(path).getroot().itertext()).replace("\xa0", " ")
    for words in (session.run.id, "other", "episode/return", "running", "careful"):
        assert words in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("monitor",), "needs a terminal"),
        (("monitor", "--latest"), "needs a terminal"),
        (("monitor", "nosuch"), "no run is called 'nosuch'"),
        (("monitor", "-o", "a.svg"), "both --once and -o"),
        (("monitor", "--once", "--size", "90x30"), "both --once and -o"),
        (("monitor", "--once", "-o", "a.gif"), "ends in .svg"),
        (("monitor", "--once", "-o", "a.svg", "--size", "big"), "120x40"),
        (("monitor", "--once", "-o", "a.svg", "--size", "5x5"), "not between"),
        (("monitor", "--once", "-o", "a.svg", "--theme", "pink"), "there are dark"),
        (("monitor", "far:x", "--once", "-o", "a.svg"), "is on another machine"),
        (("monitor", "far:x", "test", "--once"), "it is watched alone"),
        (("monitor", "--once", "--theme", "pink"), "there are dark"),
    ],
)
def test_what_is_wrong_is_one_line(session, arguments, says):
    assert says in error_line(*arguments)


def test_a_picture_that_cannot_be_written_is_one_line(session):
    line = error_line("monitor", "--once", "-o", "/nowhere/a.svg", code=1)
    assert "cannot write /nowhere/a.svg" in line
