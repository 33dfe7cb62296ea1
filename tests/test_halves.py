"""The suite's two halves end in one line."""

from __future__ import annotations

import sys

import pytest
from in_halves import counts_of, in_words, main

FIRST = "....\n1 failed, 4636 passed, 74 skipped, 18 warnings in 2419.64s (0:40:19)\n"
OTHER = "FAILED tests/x.py - 3 passed\n12 passed, 1 warning, 2 errors in 3.04s\nmore\n"


def test_counts_are_those_of_the_closing_line():
    assert in_words(counts_of(FIRST)) == "1 failed, 4636 passed, 74 skipped, 18 warnings"
    assert in_words(counts_of(FIRST) + counts_of(OTHER)) == (
        "1 failed, 4648 passed, 74 skipped, 2 errors, 19 warnings"
    )


def test_a_run_that_says_nothing_is_an_error():
    assert in_words(counts_of("Killed\n")) == "1 error"


@pytest.mark.parametrize(
    ("first", "other", "expected"), [(0, 0, 0), (1, 0, 1), (0, 1, 1), (0, -9, -9)]
)
def test_a_half_that_fails_fails_the_whole(capsys, first, other, expected):
    program = (
        "import os, sys\n"
        f"code = {first} if sys.argv[1:] == ['tests/trainer'] else {other}\n"
        "print('a half')\n"
        "print('2 passed in 0.01s', flush=True)\n"
        "os.kill(os.getpid(), -code) if code < 0 else sys.exit(code)\n"
    )
    assert main([sys.executable, "-c", program]) == expected
    printed = capsys.readouterr().out.splitlines()
    assert printed.count("a half") == 2
    assert printed[-1] == "4 passed"
