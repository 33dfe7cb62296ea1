"""Progress output of a foreground run without a terminal."""

from __future__ import annotations

import io
import math
import os
import termios
from types import SimpleNamespace

from waiting import wait_for

from operant.commands.helpers.progress import PhaseWords, PlainProgress, TimeLeft, _bar
from operant.monitor.render.formatting import UNKNOWN


def test_in_a_file_what_takes_long_is_said_as_it_goes_on_and_every_ten_seconds():
    stream, clock = io.StringIO(), SimpleNamespace(now=0.0)
    progress = PlainProgress(stream, lambda: clock.now)
    for clock.now in range(30):
        progress.phase("compiling", int(clock.now >= 13), 5, "loops", 40.0 - clock.now)
    progress({"progress/fraction": 0.5}, 1, 4096)
    clock.now = 32.0
    progress.phase("compiling", 1, 5, "loops", None)  # and anew after a line of numbers
    assert [line.strip() for line in stream.getvalue().splitlines() if "loops" in line] == [
        "compiling 0 of 5 loops, about 40s left",
        "compiling 0 of 5 loops, 10s, about 30s left",
        "compiling 1 of 5 loops, 13s, about 27s left",
        "compiling 1 of 5 loops, 23s, about 17s left",
        "compiling 1 of 5 loops, 32s",
    ]


def test_the_time_moves_while_the_run_itself_can_say_nothing():
    clock = SimpleNamespace(now=0.0)
    words = PhaseWords(lambda: clock.now)
    words.set("compiling", 1, 5, "loops", 50.0)
    clock.now = 20.0
    assert str(words) == "compiling 1 of 5 loops, 20s, about 30s left"
    clock.now = 70.0
    assert str(words) == "compiling 1 of 5 loops, 1m 10s"


def test_a_time_left_falls_and_goes_where_a_run_takes_longer():
    clock = SimpleNamespace(now=0.0)
    left = TimeLeft(50.0, lambda: clock.now)
    clock.now = 20.0
    assert str(left) == "30s left"
    clock.now = 49.5
    assert str(left) == ""
    clock.now = 500.0
    assert str(left) == ""
    assert str(TimeLeft(math.nan)) == ""


def test_a_terminal_draws_the_time_anew_without_another_word_of_the_run():
    master, slave = os.openpty()
    said = bytearray()

    def is_drawn() -> bool:
        said.extend(os.read(master, 4096))
        return b"1 of 5 loops, 1s, about" in said

    termios.tcsetwinsize(slave, (24, 120))
    with os.fdopen(slave, "w") as terminal, _bar("the-run", terminal) as report:
        report.phase("compiling", 1, 5, "loops", 100.0)
        wait_for(is_drawn)
    os.close(master)


def test_the_return_is_the_newest_there_is_and_an_evaluations_before_any_episode_ended():
    stream, clock = io.StringIO(), iter(range(0, 1000, 3))
    progress = PlainProgress(stream, lambda: next(clock))
    for values in (
        {"episode/return": math.nan},
        {"episode/return": math.nan, "evaluation/return": 5.0},
        {"episode/return": 7.0, "evaluation/return": 6.0},
        {"episode/return": math.nan, "evaluation/return": 8.0},
    ):
        progress({"progress/fraction": 0.5, **values}, 1, 4096)
    told = [line.split("return ")[1] for line in stream.getvalue().splitlines()]
    assert told[0] == UNKNOWN  # not NaN, which would be a fault of the environment's
    assert [float(each) for each in told[1:]] == [5.0, 7.0, 7.0]
