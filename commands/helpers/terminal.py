"""Whether there is a terminal for the monitor."""

from __future__ import annotations

import sys


def has_terminal() -> bool:
    """All three streams are one: keys come from standard input, and Textual draws on standard
    error, so that a screen redirected there would be blank.
    """
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def say_starting() -> None:
    """Say on a terminal that a screen is on its way, which erases the words, as an error writes
    over them: imports take seconds on a busy machine.
    """
    if has_terminal():
        sys.stderr.write("starting ...\r")
        sys.stderr.flush()
