"""Catching what a process prints, with all of its children: the run's console.

Descriptors 1 and 2 lead through a pseudo-terminal, where there was a terminal, else through a pipe
to a process of their own: `python -m operant.shared.console.capture`. It passes everything on to
where it went before, and keeps it in the run's folder. A thread would not do: compiled code that
holds the interpreter and prints more than a pipe takes would wait for that thread for ever.
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

SWITCH = "OPERANT_CONSOLE"  # "off" in the environment: nothing is caught
STOP_S = 2.0  # the longest that a process waits at its end until all it printed is kept
NOWHERE = -1

# The shell ends at once, so that the keeper is no child of the user's program.
_START = '"$@" >/dev/null 2>&1 &'

_current: Console | None = None  # a process has one at a time


def start_console(path: Path, warn: Callable[[str], None]) -> Console | None:
    """Keep in the file at `path` what this process prints from now on: the console that does so
    already, or a new one. None where nothing is to be caught; where nothing can be, this warns.
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
    """Print as before, and into the file at `path`, until `stop`."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        """Raises OSError and termios.error."""
        self.path, self._warn, self._pid = path, warn, os.getpid()
        self._is_stopping = False
        os.fstat(0)  # were it closed, what is opened next would get its number
        self._before = {1: os.dup(1), 2: os.dup(2)}
        channels = {1: _opened_like(1)}
        channels[2] = channels[1] if os.path.samefile(1, 2) else _opened_like(2)
        sinks = {}
        for fd, before in self._before.items():
            # A detached trainer prints into the file itself until it comes here.
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
        """Print as before, once all that was printed is kept."""
        global _current
        if not self._is_stopping and self._pid == os.getpid():
            self._is_stopping = True
            self._restore()
            self._keeper.wait()
            _current = None

    def _watch(self) -> None:
        """If somebody kills the keeper, print as before."""
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
    """The other process: it reads from each source, passes on to its sink, and keeps what it read
    in the file at `path`. `life` ends with it.
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
        """Until all that was printed is kept; `STOP_S` at most, as a process may print for ever."""
        with contextlib.suppress(OSError):  # it has ended
            self.life.shutdown(socket.SHUT_WR)
            select.select([self.life], [], [], STOP_S)


def _opened_like(fd: int) -> tuple[int, int]:
    """Two ends, to read and to write, of a terminal where `fd` is one, else of a pipe."""
    if not os.isatty(fd):
        return os.pipe()
    source, target = pty.openpty()
    tty.setraw(target)  # the terminal behind it makes line ends
    termios.tcsetwinsize(target, termios.tcgetwinsize(fd))
    return source, target


def _write_by_lines() -> None:
    """Have Python write what it holds back now, and from now on each line, so that no crash loses
    lines.
    """
    streams: list[Any] = [sys.stdout, sys.stderr]
    for stream in streams:
        # None, closed, or gone; or a signal came in the middle of a write.
        with contextlib.suppress(AttributeError, OSError, ValueError, RuntimeError):
            stream.reconfigure(line_buffering=True)


def keep(path: Path, life: int, sinks: dict[int, int]) -> None:
    """Pass on and keep what comes from each source, until nobody can print any more. `life` ends
    when the trainer does, or lets go of its console: what comes later is passed on alone.
    """
    file: ConsoleFile | None = ConsoleFile(path, secret_values(os.environ))
    poll = select.poll()
    for fd in (life, *sinks):
        poll.register(fd, select.POLLIN)
    while sinks:
        ready = dict(poll.poll())
        for source in ready.keys() & sinks.keys():
            # A terminal that all have closed says POLLHUP alone.
            data = os.read(source, 1 << 16) if ready[source] & select.POLLIN else b""
            if not data:
                poll.unregister(source)
                del sinks[source]
                continue
            if sinks[source] != NOWHERE and not _pass_on(data, source, sinks[source]):
                sinks[source] = NOWHERE
            if file:
                file.feed(data)
        if ready.keys() == {life}:  # all that the trainer printed is kept
            file = None
            poll.unregister(life)
            os.close(life)


def _pass_on(data: bytes, source: int, sink: int) -> bool:
    """Whether the sink is still there."""
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
