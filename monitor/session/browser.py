"""Whether the monitor is shown in a browser, by a server that holds its standard streams."""

from __future__ import annotations

import os

from ...shared.processes.life_pipe import killed_when_closed

LIFE = "OPERANT_SCREEN_LIFE"  # the number of a pipe that ends with that server
STREAMS = [0, 1]  # its input and its output, which that server reads and writes


def is_in_a_browser() -> bool:
    """Whether textual-serve started this program, which sets TEXTUAL_DRIVER."""
    return os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")


def end_with_the_server() -> None:
    """Have this process killed with the server, however that ends. Outside a browser, nothing."""
    pipe = os.environ.pop(LIFE, "")
    if is_in_a_browser() and pipe.isdecimal():
        os.set_inheritable(int(pipe), False)
        killed_when_closed(int(pipe))
