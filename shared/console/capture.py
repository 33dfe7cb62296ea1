"""Catching what a process prints, with all of its children: the run's console.

Descriptors 1 and 2 lead to a relay (`relay.py`), which passes everything on to where it went before
and keeps it in the run's folder. Where there was a terminal the process still sees one.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..processes.python_program import python_program
from ..runs.small_file import open_to_append
from .relay import READ_BYTES, copy_window_size

SWITCH = "OPERANT_CONSOLE"  # "off" in the environment: nothing is caught
STOP_S = 2.0  # the longest that a process waits at its end until all it printed is kept
START_S = 10.0
_PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ, of Linux

# As the recorder: the shell ends at once, so that the relay is no child of the user's program.
_START = '"$@" >/dev/null 2>&1 &'

Identity = tuple[int, int] | None
_caught = threading.Lock()  # a process has one console at a time
_consoles: dict[Path, Console] = {}  # that one, by its file


def start_console(path: Path, warn: Callable[[str], None]) -> Console | None:
    """Keep in the file at `path` what this process prints from now on: the console that does so
    already, or a new one. None where nothing is to be caught; where nothing can be, this warns.
    """
    if console := _consoles.get(path):
        return console
    python = python_program()
    if os.environ.get(SWITCH, "").lower() == "off" or python is None:
        return None
    if not all(map(_identity, (0, 1, 2))):  # one is closed: what is opened next gets its number
        return None
    if not _caught.acquire(blocking=False):
        warn("another run of this process has its console: this run gets none")
        return None
    try:
        console = _consoles[path] = Console(path, python, warn)
        return console
    except (OSError, subprocess.SubprocessError, termios.error) as error:
        _caught.release()
        warn(f"what is printed is not kept: {error}")
        return None


class Console:
    """Print as before, and into the file at `path`, until `stop`."""

    def __init__(self, path: Path, python: str, warn: Callable[[str], None]) -> None:
        """Raises OSError, and SubprocessError."""
        self._path, self._file = path, _identity(path)
        self._warn, self._pid = warn, os.getpid()
        self._is_stopping = False
        self._before: dict[int, int] = {}  # what 1 and 2 were
        self._ours: dict[int, Identity] = {}  # what they are now
        self._sources: dict[int, int] = {}  # of each: where it went before
        self._copied: dict[str, _Copied] = {}  # by their names in sys
        self._held: dict[int, Identity] = {}  # what we opened, until somebody closes it
        self._is_lost = False  # whether the relay has ended before us
        self._life, relays_life = socket.socketpair()
        self._hold(self._life.fileno())
        targets: dict[Identity, int] = {}
        try:
            channels = []
            for fd in (1, 2):
                place, self._before[fd] = _identity(fd), self._hold(os.dup(fd))
                if place in targets:
                    continue
                source, targets[place] = _opened_like(fd)
                self._sources[self._hold(source)] = self._before[fd]
                # A detached trainer prints into that file until it comes here.
                sink = "" if place == self._file else str(self._before[fd])
                channels.append(f"{source}:{sink}")
            for name in ("stdout", "stderr"):
                if type(getattr(sys, name)).__module__.partition(".")[0] == "ipykernel":
                    source, target = os.pipe()
                    nowhere = self._hold(os.open(os.devnull, os.O_WRONLY))
                    self._sources[self._hold(source)] = nowhere
                    self._copied[name] = _Copied(getattr(sys, name), target)
                    channels.append(f"{source}:")
            passed = [*self._sources, *self._sources.values()]
            _start_relay(path, python, relays_life, channels, passed)
            for fd, before in self._before.items():
                _flush()
                os.dup2(targets[_identity(before)], fd)
                self._ours[fd] = _identity(fd)
        except BaseException:
            self._let_go()
            raise
        finally:
            relays_life.close()
            for target in targets.values():
                os.close(target)
        vars(sys).update(self._copied)
        self._lines_before = [_with_lines(stream, True) for stream in (sys.stdout, sys.stderr)]
        self._watcher = threading.Thread(target=self._watch, name="console", daemon=True)
        self._watcher.start()

    def stop(self) -> None:
        """Print as before, once all that was printed is kept; wait for that no longer than
        `STOP_S`.
        """
        if self._is_stopping or self._pid != os.getpid():
            return
        self._is_stopping = True
        self._restore()
        _consoles.pop(self._path, None)
        _caught.release()
        if not self._is_lost:  # else children may still need what is open
            if self._holds(self._life.fileno()):
                with contextlib.suppress(OSError):
                    self._life.shutdown(socket.SHUT_WR)
            self._watcher.join(STOP_S)
            self._follow_file()
            self._let_go()

    def _watch(self) -> None:
        """Wait for the end of the relay. If somebody killed it, print as before, and pass on what
        children of this process print: without a reader, they would fail or wait for ever.
        """
        with contextlib.suppress(OSError):
            self._life.recv(1)
        if self._is_stopping:
            return
        self._is_lost = True
        self._restore()
        self._follow_file()
        self._warn("the process that keeps the console has ended: what comes now is not kept")
        poll = select.poll()
        left = set(filter(self._holds, self._sources))
        for source in left:
            poll.register(source, select.POLLIN)
        while left:
            for source, _ in poll.poll():
                data, sink = b"", self._sources[source]
                with contextlib.suppress(OSError):
                    data = os.read(source, READ_BYTES) if self._holds(source) else b""
                if not data:
                    poll.unregister(source)
                    left.discard(source)
                with contextlib.suppress(OSError):
                    if self._holds(sink):
                        os.write(sink, data)

    def _restore(self) -> None:
        """Lead 1 and 2 to where they led before, unless somebody has led them elsewhere since."""
        _flush()
        for name, copied in self._copied.items():
            if getattr(sys, name) is copied:
                setattr(sys, name, copied.stream)
            copied.close_copy()
        for fd, before in self._before.items():
            if _identity(fd) == self._ours.get(fd) and self._holds(before):
                os.dup2(before, fd)
        for stream, had_lines in zip((sys.stdout, sys.stderr), self._lines_before, strict=True):
            _with_lines(stream, had_lines)

    def _follow_file(self) -> None:
        """Lead 1 and 2, where they lead to the console's file (a detached trainer's), to the one
        that has taken its place: the relay puts a shorter one there.
        """
        if self._file is None or _identity(self._path) in (None, self._file):
            return
        for fd in self._before:
            if _identity(fd) == self._file:
                with contextlib.suppress(OSError):
                    new = open_to_append(self._path)
                    os.dup2(new, fd)
                    os.close(new)

    def _hold(self, fd: int) -> int:
        """`fd`, one of ours from now on."""
        self._held[fd] = _identity(fd)
        return fd

    def _holds(self, fd: int) -> bool:
        """Whether `fd` is still ours: the program may have closed all descriptors, and opened
        others that have their numbers.
        """
        return self._held.get(fd) is not None and _identity(fd) == self._held[fd]

    def _let_go(self) -> None:
        if not self._holds(self._life.fileno()):
            self._life.detach()
        self._life.close()
        for fd in {*self._sources, *self._sources.values(), *self._before.values()}:
            if self._holds(fd):
                os.close(fd)


class ConsoleOfChild:
    """Keeps in the file at `path` what another process prints to `fd`, which this closes once it
    is started. `wait` returns when all of it is in the file.
    """

    def __init__(self, path: Path, python: str) -> None:
        """Raises OSError, and SubprocessError."""
        self._life, relays_life = socket.socketpair()
        source, self.fd = os.pipe()
        try:
            _start_relay(path, python, relays_life, [f"{source}:"], [source])
        except BaseException:
            self.close_pipe()
            self._life.close()
            raise
        finally:
            relays_life.close()
            os.close(source)

    def close_pipe(self) -> None:
        os.close(self.fd)

    def wait(self) -> None:
        """For `STOP_S` at most: a process that the other one left behind may hold it open."""
        with contextlib.suppress(OSError):
            self._life.settimeout(STOP_S)
            self._life.recv(1)


class _Copied:
    """A stream of a notebook, which has no descriptor: what is written goes to `fd` as well."""

    def __init__(self, stream: Any, fd: int) -> None:
        self.stream, self._fd = stream, fd

    def write(self, text: str) -> Any:
        with contextlib.suppress(OSError):
            if self._fd >= 0:
                os.write(self._fd, text.encode("utf-8", "replace"))
        return self.stream.write(text)

    def close_copy(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _start_relay(
    path: Path, python: str, life: socket.socket, channels: list[str], passed: list[int]
) -> None:
    """Raises OSError, and SubprocessError."""
    relay = [python, "-P", "-m", "operant.shared.console.relay", str(path)]
    subprocess.run(
        ["/bin/sh", "-c", _START, "sh", *relay, str(life.fileno()), *channels],
        stdin=subprocess.DEVNULL,
        pass_fds=[life.fileno(), *passed],
        start_new_session=True,
        check=True,
        timeout=START_S,
        env={**os.environ, SWITCH: "off"},
    )


def _identity(place: int | Path) -> Identity:
    """Equal for descriptors and paths of the same file, pipe or terminal; None where it is not
    there.
    """
    try:
        status = os.stat(place)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _opened_like(fd: int) -> tuple[int, int]:
    """Two ends, to read and to write, of a terminal where `fd` is one, else of a pipe. Raises
    OSError.
    """
    if not os.isatty(fd):
        source, target = os.pipe()
        with contextlib.suppress(OSError):  # only Linux has it
            import fcntl

            fcntl.fcntl(target, _SET_PIPE_SIZE, _PIPE_BYTES)
        return source, target
    source, target = pty.openpty()
    attributes = termios.tcgetattr(fd)
    attributes[1] &= ~termios.OPOST  # the terminal behind it makes line ends
    termios.tcsetattr(target, termios.TCSANOW, attributes)
    copy_window_size(fd, target)
    return source, target


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # Gone, closed, None; or a signal came in the middle of a write.
        with contextlib.suppress(OSError, ValueError, AttributeError, RuntimeError):
            stream.flush()


def _with_lines(stream: object, is_by_lines: bool) -> bool:
    """Have a text stream write each line at once, so that no crash loses lines; or no longer.
    Returns whether it did.
    """
    if not isinstance(stream, io.TextIOWrapper) or stream.closed:
        return False
    did = stream.line_buffering
    if did != is_by_lines:
        stream.reconfigure(line_buffering=is_by_lines)
    return did
