"""What a run in the foreground says where there is no terminal."""

from __future__ import annotations

import io
import math

from operant.commands.progress import PlainProgress
from operant.monitor.look.formatting import UNKNOWN


def test_what_takes_long_is_said_once_for_as_long_as_it_says_the_same():
    stream, clock = io.StringIO(), iter(range(0, 1000, 3))  # 3 s between two looks
    progress = PlainProgress(stream, lambda: next(clock))
    for done in (0, 0, 0, 1, 1, 1):
        progress.phase("compiling", done, 5, "loops")
    progress({"progress/fraction": 0.5}, 1, 4096)
    progress.phase("compiling", 1, 5, "loops")  # and anew after a line of numbers
    assert [line.strip() for line in stream.getvalue().splitlines() if "loops" in line] == [
        "compiling 0 of 5 loops",
        "compiling 1 of 5 loops",
        "compiling 1 of 5 loops",
    ]


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
