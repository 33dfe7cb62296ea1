"""Whether the monitor is shown in a browser, by a server that holds its standard streams."""

from __future__ import annotations

import os

STREAMS = [0, 1]  # its input and its output, which that server reads and writes


def is_in_a_browser() -> bool:
    """As textual-serve tells the programs that it starts."""
    return os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")
