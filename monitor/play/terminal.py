"""A terminal that is drawn on row by row: only those that differ, in one write.

Textual takes more of a core for 20 frames a second of 120 x 40 cells than playing is to take.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import tempfile
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import COLOR_SYSTEMS
from rich.style import Style

from ...shared.text.harmless import harmless_lines
from ..render.ascii import ascii_text
from ..render.lines import Line

_NO_LINE = "\r\x1b[K"  # of what was said until then
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"  # another screen, no cursor, no wrapping
_LEAVE = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"  # shown at once where that is known
_KEY = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO.|.", re.DOTALL)
_MOST_BYTES, _MOST_STRAY = 1024, 4000


class Terminal:
    """Standard input and output, from `opened` on. `styles` are those of the names in lines."""

    def __init__(
        self, styles: dict[str, Style], color_system: str | None, is_ascii: bool = False
    ) -> None:
        self.color_system, self.is_ascii = color_system, is_ascii
        self._styles = styles
        self._marks: dict[str, tuple[str, str]] = {}
        self._rows: list[str] = []
        self._size = (0, 0)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """The terminal is ours while inside; whatever happens, it is as it was afterwards.

        What libraries print meanwhile follows then on standard error.
        """
        self._input = sys.stdin.fileno()
        self._settings = termios.tcgetattr(self._input)
        with _kept_apart() as self._output, _caught(self._signals()):
            self._write(_NO_LINE)
            self._enter()
            try:
                yield
            finally:
                self._leave()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        columns, rows = os.get_terminal_size(self._output)
        return columns, rows

    def keys(self, timeout_s: float) -> list[str] | None:
        """Keys pressed by then; None where there is nobody left to press one."""
        ready, _, _ = select.select([self._input], [], [], max(0.0, timeout_s))
        if not ready:
            return []
        pressed = os.read(self._input, _MOST_BYTES)
        return _KEY.findall(pressed.decode("utf-8", "replace")) if pressed else None

    def drop_keys(self) -> None:
        """Forget what was pressed up to now."""
        termios.tcflush(self._input, termios.TCIFLUSH)

    def paint(self, lines: list[Line], size: tuple[int, int]) -> None:
        """Show `lines` on a screen of that size, as far as it does not already."""
        rows = [self._row(line) for line in lines[: size[1]]]
        if size != self._size:
            self._rows, self._size = [], size
        before = [*self._rows, *[None] * (len(rows) - len(self._rows))]
        changed = [f"\x1b[{y + 1}H{row}\x1b[K" for y, row in enumerate(rows) if row != before[y]]
        self._rows = rows
        if changed:
            self._write("".join([_BEGIN_FRAME, *changed, _END_FRAME]))

    def _row(self, line: Line) -> str:
        parts = []
        for text, style in line:
            begin, end = self._marks.get(style) or self._mark(style)
            parts.append(f"{begin}{ascii_text(text) if self.is_ascii else text}{end}")
        return "".join(parts)

    def _mark(self, name: str) -> tuple[str, str]:
        """The escape sequences before and after a text in the style called `name`."""
        style = self._styles.get(name) or (Style.parse(name) if " on " in name else Style())
        # Without colours there are still bold and reversed letters.
        system = COLOR_SYSTEMS[self.color_system or "standard"]
        begin, _, end = style.render("\0", color_system=system).partition("\0")
        self._marks[name] = begin, end
        return begin, end

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._output, data) :]

    def _enter(self) -> None:
        tty.setcbreak(self._input)
        self._rows, self._size = [], (0, 0)
        self._write(_ENTER)

    def _leave(self) -> None:
        termios.tcsetattr(self._input, termios.TCSAFLUSH, self._settings)
        self._write(_LEAVE)

    def _signals(self) -> dict[signal.Signals, Any]:
        def end(number: int, frame: FrameType | None) -> None:
            raise SystemExit(128 + number)

        def suspend(number: int, frame: FrameType | None) -> None:
            self._leave()
            # Stopped until `fg`; where there is no shell that could say so, the kernel goes on.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            signal.signal(number, suspend)
            self._enter()

        return {
            **dict.fromkeys((signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT), end),
            signal.SIGTSTP: suspend,
        }


@contextmanager
def _kept_apart() -> Iterator[int]:
    """Gives a descriptor of the terminal; what else is written to standard output and error, by
    whatever library, comes out on standard error in the end.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as stray:
        os.dup2(stray.fileno(), 1)
        os.dup2(stray.fileno(), 2)
        try:
            yield saved[0]
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, descriptor in enumerate(saved, 1):
                os.dup2(descriptor, number)
                os.close(descriptor)
            stray.seek(0)
            text = stray.read(_MOST_STRAY).decode("utf-8", "replace")
            sys.stderr.write(harmless_lines(text))


@contextmanager
def _caught(handlers: dict[signal.Signals, Any]) -> Iterator[None]:
    """Signals that are ignored stay so."""
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
