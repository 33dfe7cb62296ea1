"""Whether there is a terminal for the monitor."""

from __future__ import annotations

import sys


def has_terminal() -> bool:
    """All three streams are one: keys come from standard input, and Textual draws on standard
    error, so that a screen redirected there would be blank.
    """
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
