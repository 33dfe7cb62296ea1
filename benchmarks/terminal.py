"""A pseudo-terminal for `operant`, as real to it as any."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
import threading
from collections.abc import Iterator

ROWS, COLUMNS = 40, 120


@contextlib.contextmanager
def operant_in_a_terminal(*arguments: str) -> Iterator[tuple[int, int]]:
    """Run `operant` with these arguments in 120 x 40; gives its process id and the terminal."""
    process_id, terminal = pty.fork()
    if process_id == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "operant", *arguments])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    try:
        yield process_id, terminal
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, 9)
        os.waitpid(process_id, 0)
        os.close(terminal)


def read_until(terminal: int, text: bytes) -> bytes:
    """The bytes sent to the terminal, up to `text`. Raises EOFError if that never comes."""
    shown = b""
    while text not in shown:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            raise EOFError(f"{text!r} was not shown in {shown[-2000:]!r}")
        shown += data
    return shown


def drain(terminal: int) -> None:
    """Read and drop whatever comes, in a thread of its own."""

    def read() -> None:
        with contextlib.suppress(OSError):
            while os.read(terminal, 65536):
                pass

    threading.Thread(target=read, daemon=True).start()
