"""How one of several ranks ends."""

from __future__ import annotations

import contextlib
import os
import sys


def ended_at_once(exit_code: int) -> int:
    """Where one of several ranks failed, end the process with no more ado: a sum that waits for
    another rank cannot be called off.
    """
    if exit_code:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # the terminal may have gone
                stream.flush()
        os._exit(exit_code)
    return exit_code
