"""The terminal as Textual drives it: it gets back all that was its own, and keys act once there is
something to see.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import termios
import tty
from contextlib import suppress
from typing import Any

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

_QUIET_S = 0.05  # without a byte: nothing more is on its way
_MOST_READS = 20
_MOUSE_AS_CELLS = "\x1b[?1016l"
_NO_LINE = "\r\x1b[K"  # of what was said, or typed and echoed, until the screen is there


class TerminalDriver(LinuxDriver):
    """Textual's driver. Keys that were pressed before the first frame are dropped; so are keys and
    mouse reports that are on their way when the terminal is given back.
    """

    takes_keys = False

    def start_application_mode(self) -> None:
        assert self._file
        self._file.write(_NO_LINE)
        termios.tcflush(self.fileno, termios.TCIFLUSH)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        # In the loop: a handler that interrupts a write would wait for ever to write itself.
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTSTP, self._sigtstp_application)
        loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)

    def process_message(self, message: Message) -> None:
        if self.takes_keys or not isinstance(message, events.InputEvent | events.Paste):
            super().process_message(message)

    def disable_input(self) -> None:
        """Drop what the terminal sends while it still echoes nothing."""
        super().disable_input()
        with suppress(OSError, termios.error):  # it has gone
            if not termios.tcgetattr(self.fileno)[tty.LFLAG] & termios.ECHO:
                self.write(_MOUSE_AS_CELLS)
                self._drain()

    def _drain(self) -> None:
        for _ in range(_MOST_READS):
            ready, _, _ = select.select([self.fileno], [], [], _QUIET_S)
            if not ready or not os.read(self.fileno, 4096):
                return

    def _sigcont_application(self, *given: Any) -> None:
        """Take the terminal again, which the shell had meanwhile."""
        if not self._must_signal_resume:  # stopped by SIGSTOP, before which nothing is given back
            self.suspend_application_mode()
        super()._sigcont_application(*given)
