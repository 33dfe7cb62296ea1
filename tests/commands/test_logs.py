"""`operant logs`, and the consoles of runs in the foreground, detached and of one's own loop."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_line import SHORT, error_line, operant, python
from waiting import wait_for

from operant.shared.console.console_file import ConsoleFile, time_of, without_time
from operant.shared.runs.find_runs import latest_run
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

LOOP = """
import operant, sys
with operant.init(name="mine") as run:
    for i in range(3):
        print("step", i)
        operant.log({"loss": 1.0}, step=i)
    print("careful", file=sys.stderr)
"""


@pytest.fixture
def catches(monkeypatch):
    monkeypatch.setenv("OPERANT_CONSOLE", "on")


@pytest.fixture
def session():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    yield session
    session.close("finished", 0)


def texts(output: str) -> list[str]:
    lines = output.splitlines()
    assert all(map(time_of, lines)), output
    return list(map(without_time, lines))


def fill(run, *lines: str, rank: int = 0) -> ConsoleFile:
    file = ConsoleFile(run.console_path(rank))
    file.feed("\n".join(lines).encode())
    return file


@pytest.mark.usefixtures("catches")
def test_a_loop_of_ones_own_has_a_console_where_it_asks_for_one():
    done = python("-c", LOOP)
    assert (done.stdout, done.stderr) == ("step 0\nstep 1\nstep 2\n", "careful\n")
    printed = operant("logs")
    assert sorted(texts(printed.stdout)) == ["careful", "step 0", "step 1", "step 2"]
    assert operant("logs", "--lines", "2").stdout == "".join(
        printed.stdout.splitlines(keepends=True)[-2:]
    )
    python("-c", LOOP.replace('"mine"', '"mine", console=False'))
    assert "has no console: what it printed was not kept" in error_line("logs")


@pytest.mark.usefixtures("catches", "kill_runs")
@pytest.mark.parametrize("options", [(), ("--detach",)])
def test_a_run_of_train_has_a_console(options):
    done = operant("train", "cart_pole_ppo_smoke", *SHORT, *options)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: read_status(latest_run()).state == "finished")
    printed = operant("logs").stdout
    assert "env steps" in printed
    assert "  100%  4096 env steps" in printed
    assert all(map(time_of, printed.splitlines()))


@pytest.mark.usefixtures("catches")
def test_the_traceback_of_a_run_that_fails_is_in_its_console(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(
        "import gymnasium as gym\n"
        "class Env(gym.Env):\n"
        "    observation_space = gym.spaces.Box(-1, 1, (2,))\n"
        "    action_space = gym.spaces.Discrete(2)\n"
        "    def reset(self, **_): print('resets'); raise KeyError('why')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = operant("train", "gymnasium:broken:Env", *SHORT)
    assert done.returncode == 1
    printed = texts(operant("logs").stdout)
    assert "resets" in printed
    assert any("KeyError: 'why'" in text for text in printed)


def test_following_prints_each_line_once_until_the_run_has_ended(session):
    file = fill(session.run, "one", "two", "")
    command = [sys.executable, "-m", "operant", "logs", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout
        assert [without_time(following.stdout.readline()) for _ in "12"] == ["one\n", "two\n"]
        file.feed(b"10%\r20%")
        file.feed(b"\r30%\nthree\n")
        assert [without_time(following.stdout.readline()) for _ in "12"] == ["30%\n", "three\n"]
        file.feed(b"the last")
        session.close("finished", 0)
        assert without_time(following.stdout.read()) == "the last\n"


def test_ranks_have_theirs(session):
    fill(session.run, "of rank 0")
    fill(session.run, "of rank 1", rank=1)
    assert texts(operant("logs", "--rank", "1").stdout) == ["of rank 1"]
    assert texts(operant("logs").stdout) == ["of rank 0"]
    assert "no console of rank 3" in error_line("logs", "--rank", "3")


def test_what_another_program_wrote_there_is_harmless(session):
    session.run.console_path().write_bytes(b"\x1b[31mred\x07\xff\n" + b"y" * 200_000)
    done = operant("logs")
    assert done.returncode == 0
    assert all(line.isprintable() for line in done.stdout.splitlines())
    assert done.stdout.count("y") == 200_000


def test_events_are_printed_with_their_times(session):
    for text in ("one", "two", "three"):
        session.metrics.event("warning", text)
    lines = operant("logs", "--events").stdout.splitlines()
    assert [line.split("▲ ")[1] for line in lines] == ["one", "two", "three"]
    assert operant("logs", "--events", "-n", "1").stdout.splitlines() == lines[2:]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--lines", "-1"), "-1 is not in the range x>=0"),
        (("--rank", "x"), "'x' is not a valid integer"),
        (("--events", "--follow"), "--events prints the events so far"),
        (("host:run",), "is on another machine"),
    ],
)
def test_wrong_input_is_one_line(arguments, error):
    assert error in error_line("logs", *arguments)
