"""However the monitor ends, the terminal is as it was: modes, settings, and no key left in it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import pytest
from command_line import ENDLESS

from operant.shared.runs.status import read_status

pytestmark = [pytest.mark.usefixtures("kill_runs"), pytest.mark.slow]

_MODE = re.compile(rb"\x1b\[\?(\d+)([hl])")
_AT_FIRST = {b"7", b"25"}  # lines wrap, the cursor is seen
_MOUSE_REPORT = b"\x1b[<35;10;10M"
_START = "from operant.cli import main; main()"
_BREAK = "from operant.monitor.widgets.runs_table import RunsTable; RunsTable.draw = None; "


class Watched:
    """A program in a terminal, and what it has done to that."""

    def __init__(self, *arguments: str, code: str = _START) -> None:
        self.keys, self.screen = pty.openpty()
        termios.tcsetwinsize(self.screen, (24, 80))
        self._settings = termios.tcgetattr(self.screen)
        self.text = b""
        self.program = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], stdin=self.screen, stdout=self.screen,
            stderr=self.screen, start_new_session=True, env=os.environ | {"TERM": "xterm-256color"},
        )  # fmt: skip

    def read_until(self, condition: Callable[[], object], timeout_s: float = 60.0) -> None:
        end_s = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < end_s, self.text[-1000:]
            self._read(0.02)
        self._read(0.0)

    def _read(self, wait_s: float) -> None:
        while select.select([self.keys], [], [], wait_s)[0]:
            self.text += os.read(self.keys, 1 << 16)

    def shows(self, words: bytes) -> None:
        self.read_until(lambda: words in self.text)

    def press(self, keys: bytes) -> None:
        os.write(self.keys, keys)

    def assert_is_given_back(self) -> None:
        modes = set(_AT_FIRST)
        for number, letter in _MODE.findall(self.text):
            (modes.add if letter == b"h" else modes.discard)(number)
        assert modes == _AT_FIRST
        assert self.text.count(b"\x1b[>") == self.text.count(b"\x1b[<u")
        assert termios.tcgetattr(self.screen) == self._settings
        os.set_blocking(self.screen, False)
        with pytest.raises(BlockingIOError):  # no line
            os.read(self.screen, 100)
        assert b"35;10;10M" not in self.text  # nor an echo


@contextlib.contextmanager
def watched(*arguments: str, code: str = _START) -> Iterator[Watched]:
    program = Watched(*arguments, code=code)
    try:
        yield program
    finally:
        program.program.kill()
        program.program.wait()
        os.close(program.keys)
        os.close(program.screen)


@pytest.mark.parametrize(
    ("ending", "exit_code"),
    [(b"q", 0), (b"\x03", 0), *((number, 128 + number) for number in (
        signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT))],
)  # fmt: skip
def test_every_ending_gives_the_terminal_back(ending, exit_code):
    with watched("monitor") as monitor:
        monitor.shows(b"no runs yet")
        assert b"\x1b[?1003h" in monitor.text
        if isinstance(ending, bytes):
            monitor.press(ending)
        else:
            monitor.program.send_signal(ending)
        monitor.press(_MOUSE_REPORT * 20 + b"\r")
        monitor.read_until(lambda: monitor.program.poll() is not None)
        assert monitor.program.returncode == exit_code
        monitor.assert_is_given_back()


def test_an_exception_gives_the_terminal_back():
    with watched("monitor", code=_BREAK + _START) as monitor:
        monitor.read_until(lambda: monitor.program.poll() is not None)
        assert monitor.program.returncode == 1
        assert b"TypeError" in monitor.text
        monitor.assert_is_given_back()


@pytest.mark.parametrize("stop", [b"\x1a", signal.SIGTSTP, signal.SIGSTOP])
def test_a_stopped_monitor_takes_the_terminal_again_and_gives_it_back(stop):
    with watched("monitor") as monitor:
        monitor.shows(b"no runs yet")
        if isinstance(stop, bytes):
            monitor.press(stop)
        else:
            monitor.program.send_signal(stop)
        monitor.read_until(lambda: os.waitpid(monitor.program.pid, os.WNOHANG | os.WUNTRACED)[0])
        if stop != signal.SIGSTOP:  # which nobody can catch
            monitor.assert_is_given_back()
        before = len(monitor.text)
        monitor.program.send_signal(signal.SIGCONT)
        monitor.read_until(lambda: b"no runs yet" in monitor.text[before:])
        monitor.press(b"q")
        monitor.read_until(lambda: monitor.program.poll() is not None)
        monitor.assert_is_given_back()


def test_keys_that_were_typed_before_the_first_frame_do_nothing(start_training):
    _, run = start_training("cart_pole_ppo_smoke", *ENDLESS)
    with watched("monitor", run.id) as monitor:
        for _ in range(20):
            monitor.press(b"X\r")
            time.sleep(0.02)
        monitor.shows(b"episode/return")
        monitor.press(b"q")
        monitor.read_until(lambda: monitor.program.poll() is not None)
        monitor.assert_is_given_back()
    assert b"starting ..." in monitor.text.partition(b"\x1b[?1049h")[0]
    assert f"Stop {run.id}".encode() not in monitor.text
    assert read_status(run).state == "running"
