"""Captures the output of a process and its children: the run's console.

Descriptors 1 and 2 are connected, through a pseudo-terminal if they were a terminal, else through a
pipe, to another process: `python -m operant.shared.console.capture`. It writes everything to the
original output and to the run's folder. A thread would not do: compiled code that holds the
interpreter and prints more than a pipe has room for would wait for that thread for ever.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import threading
import tty
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..processes.python_program import python_program
from ..text.masking import secret_values
from .console_file import ConsoleFile

SWITCH = "OPERANT_CONSOLE"  # "off" in the environment: nothing is captured
STOP_S = 2.0  # the longest wait at the end of a process until its output is written
NOWHERE = -1

# The shell ends at once, so that the keeper is no child of the user's program.
_START = '"$@" >/dev/null 2>&1 &'

_current: Console | None = None  # a process has one at a time


def start_console(path: Path, warn: Callable[[str], None]) -> Console | None:
    """Write the output of this process to the file at `path` from now on. Returns the console,
    which may exist already; None if capturing is switched off or, with a warning, not possible.
    """
    global _current
    if _current and _current.path != path:
        warn("another run of this process has its console: this run gets none")
        return None
    if _current is None and python_program() and os.environ.get(SWITCH, "").lower() != "off":
        try:
            _current = Console(path, warn)
        except (OSError, termios.error) as error:
            warn(f"what is printed is not kept: {error}")
    return _current


class Console:
    """Writes output to the file at `path` as well, until `stop`."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Raises OSError and termios.error."""
        self.path, self._warn, self._pid = path, warn, os.getpid()
        self._is_stopping = False
        os.fstat(0)  # if it were closed, the next file would get its number
        self._before = {1: os.dup(1), 2: os.dup(2)}
        channels = {1: _opened_like(1)}
        channels[2] = channels[1] if os.path.samefile(1, 2) else _opened_like(2)
        sinks = {}
        for fd, before in self._before.items():
            # Until here, a detached trainer prints into the file itself.
            is_file = path.exists() and os.path.samefile(fd, path)
            sinks[channels[fd][0]] = NOWHERE if is_file else before
        try:
            self._keeper = Keeper(path, sinks)
            _write_by_lines()
            for fd, (_, target) in channels.items():
                os.dup2(target, fd)
        finally:
            for fd in {*channels[1], *channels[2]}:
                os.close(fd)
        threading.Thread(target=self._watch, name="console", daemon=True).start()

    def stop(self) -> None:
        """Restore the original output, and wait until all captured output is written."""
        global _current
        if not self._is_stopping and self._pid == os.getpid():
            self._is_stopping = True
            self._restore()
            self._keeper.wait()
            _current = None

    def _watch(self) -> None:
        """Restore the original output if the keeper is killed."""
        self._keeper.life.recv(1)
        if not self._is_stopping:
            self._restore()
            self._warn("the process that keeps the console has ended: what comes now is not kept")

    def _restore(self) -> None:
        _write_by_lines()
        while self._before:
            fd, before = self._before.popitem()
            os.dup2(before, fd)
            os.close(before)


class Keeper:
    """The other process: it reads from every source, and writes to its sink and to the file at
    `path`. `life` is closed when it ends.
    """

    def __init__(self, path: Path, sinks: Mapping[int, int]) -> None:
        """Raises OSError."""
        self.life, its_life = socket.socketpair()
        program = [sys.executable, "-P", "-m", "operant.shared.console.capture", str(path)]
        numbers = [its_life.fileno(), *(fd for pair in sinks.items() for fd in pair)]
        with its_life:
            subprocess.run(
                ["/bin/sh", "-c", _START, "sh", *program, *map(str, numbers)],
                stdin=subprocess.DEVNULL,
                pass_fds={*numbers} - {NOWHERE},
                start_new_session=True,
            )

    def wait(self) -> None:
        """Wait until all output is written; `STOP_S` at most: a child may print for ever."""
        with contextlib.suppress(OSError):  # it has ended
            self.life.shutdown(socket.SHUT_WR)
            select.select([self.life], [], [], STOP_S)


def _opened_like(fd: int) -> tuple[int, int]:
    """Two descriptors, to read and to write, of a terminal if `fd` is one, else of a pipe."""
    if not os.isatty(fd):
        return os.pipe()
    source, target = pty.openpty()
    tty.setraw(target)  # the terminal behind it makes line ends
    termios.tcsetwinsize(target, termios.tcgetwinsize(fd))
    return source, target


def _write_by_lines() -> None:
    """Flush Python's buffers now, and after every line from now on: no crash loses lines."""
    streams: list[Any] = [sys.stdout, sys.stderr]
    for stream in streams:
        # The stream may be None or closed, or a signal interrupted a write.
        with contextlib.suppress(AttributeError, OSError, ValueError, RuntimeError):
            stream.reconfigure(line_buffering=True)


def keep(path: Path, life: int, sinks: dict[int, int]) -> None:
    """Copy every source to its sink and to the file, until no process has a source open. `life` is
    closed when the trainer ends or stops its console: later output goes to the sinks alone.
    """
    file: ConsoleFile | None = ConsoleFile(path, secret_values(os.environ))
    poll = select.poll()
    for fd in (life, *sinks):
        poll.register(fd, select.POLLIN)
    while sinks:
        ready = dict(poll.poll())
        for source in ready.keys() & sinks.keys():
            # A terminal that all processes have closed reports POLLHUP alone.
            data = os.read(source, 1 << 16) if ready[source] & select.POLLIN else b""
            if not data:
                poll.unregister(source)
                del sinks[source]
                continue
            if sinks[source] != NOWHERE and not _pass_on(data, source, sinks[source]):
                sinks[source] = NOWHERE
            if file:
                file.feed(data)
        if ready.keys() == {life}:  # all output of the trainer is written
            file = None
            poll.unregister(life)
            os.close(life)


def _pass_on(data: bytes, source: int, sink: int) -> bool:
    """Write to the sink; returns whether that is still possible."""
    try:
        if os.isatty(sink):
            termios.tcsetwinsize(source, termios.tcgetwinsize(sink))
        os.set_blocking(sink, True)  # other programs may have changed that
        with open(sink, "wb", closefd=False) as file:
            file.write(data)
    except (OSError, termios.error):
        return False
    return True


if __name__ == "__main__":
    _life, *_numbers = map(int, sys.argv[2:])
    keep(Path(sys.argv[1]), _life, dict(zip(_numbers[::2], _numbers[1::2], strict=True)))
