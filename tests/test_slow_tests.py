"""Which tests are slow without a mark of their own."""

from __future__ import annotations

import subprocess

import pytest
from apps import watching
from command_line import error_line, operant, operant_json, python
from slow_tests import is_slow_code

import operant as package


def start():
    subprocess.run(["true"])


def start_by_a_helper():
    python("-c", "")


def start_inside():
    def inner():
        return subprocess.Popen(["true"])

    return inner


async def open_the_monitor():
    async with watching().run_test():
        pass


def train_by_a_command():
    operant_json("train", "cart_pole")


def train_in_python():
    package.train("cart_pole")


def look_at_runs():
    operant("runs")


def ask_for_a_wrong_training():
    error_line("train", "--sed", "1")


def make_up_a_process():
    return subprocess.CompletedProcess([], 0)


SLOW = (start, start_by_a_helper, start_inside, open_the_monitor, train_by_a_command,
        train_in_python)  # fmt: skip
FAST = (look_at_runs, ask_for_a_wrong_training, make_up_a_process)


@pytest.mark.parametrize("function", SLOW, ids=lambda x: x.__name__)
def test_what_starts_a_process_or_trains_is_slow(function):
    assert is_slow_code(function)


@pytest.mark.parametrize("function", FAST, ids=lambda x: x.__name__)
def test_what_only_calls_a_command_is_not(function):
    assert not is_slow_code(function)
