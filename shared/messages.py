"""Messages of the library, through `logging.getLogger("operant")`: lines on standard error, unless
the program gives that logger another level or other handlers.
"""

from __future__ import annotations

import contextlib
import logging
import sys

from .text.harmless import one_line


class _OnStandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        label = "" if record.levelno < logging.WARNING else f"{record.levelname.lower()}: "
        with contextlib.suppress(OSError):  # the terminal may have gone
            print(f"operant: {label}{record.getMessage()}", file=sys.stderr, flush=True)


LOGGER = logging.getLogger("operant")
LOGGER.addHandler(_OnStandardError())
LOGGER.setLevel(logging.INFO)
LOGGER.propagate = False  # a program's own handlers would print each line once more


def log_warning(text: str) -> None:
    LOGGER.warning("%s", one_line(text))
