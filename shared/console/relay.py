"""The process that passes on what a run prints, and keeps it: `python -m ...relay`.

It is a process of its own, because a thread of the trainer would wait for the interpreter while
compiled code holds it; if that code printed more than a pipe takes, both would wait for ever. It
reads what comes at once, whatever it does with it, so that nobody waits for the console.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import sys
import termios
import time
from pathlib import Path

from ..text.masking import secret_values
from .console_file import ConsoleFile

FLUSH_S = 0.05
SHOWN_S, QUIET_S = 0.004, 0.02  # between two reads, where somebody sees the output or nobody does
FEW_BYTES = 2048  # half of what a terminal holds: nobody waits to write more
LOOK_AT_SIZE_S = 0.5
READ_BYTES, KEEP_BYTES = 1 << 20, 1 << 16  # in one round
MAX_BACKLOG = 4 << 20  # read, and not yet written to the file
MAX_UNSHOWN = 1 << 20  # what a terminal may be late by
_PASS_ON_BYTES = select.PIPE_BUF  # a pipe that is ready takes as much at once


def copy_window_size(source: int, target: int) -> None:
    """Give the terminal `target` the size of the terminal `source`."""
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(source, termios.TIOCGWINSZ, b"\0" * 8)
        if size != fcntl.ioctl(target, termios.TIOCGWINSZ, b"\0" * 8):
            fcntl.ioctl(target, termios.TIOCSWINSZ, size)


class Channel:
    """One stream of output: from `source` to `sink`, where it went without a console; None where
    that is the console's file.
    """

    def __init__(self, source: int, sink: int | None) -> None:
        self.source, self.sink = source, sink
        self.is_open = True
        self.unshown = bytearray()
        self._is_terminal = sink is not None and os.isatty(sink)
        self._sized_s = 0.0
        if sink is not None and self._is_terminal:
            # Opened anew, as other processes have the same one and expect it to block.
            with contextlib.suppress(OSError):
                flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
                self.sink = os.open(os.ttyname(sink), flags)

    @property
    def reads(self) -> bool:
        """A terminal that stands still holds nothing up. A pipe or a file gets everything, and
        holds its writer up as it did without a console.
        """
        return self.is_open and (self._is_terminal or not self.unshown)

    def read(self) -> bytes:
        """What came; closes where nobody can write to it any more."""
        try:
            data = os.read(self.source, READ_BYTES)
        except OSError:  # so a terminal says that all have closed it
            data = b""
        self.is_open = bool(data)
        if self.sink is not None:
            self.unshown += data
        if self._is_terminal and self.sink is not None:
            del self.unshown[: max(0, len(self.unshown) - MAX_UNSHOWN)]
            if time.monotonic() - self._sized_s > LOOK_AT_SIZE_S:
                self._sized_s = time.monotonic()
                copy_window_size(self.sink, self.source)
        return data

    def pass_on(self) -> None:
        """As much as the sink takes now. One that is gone gets nothing any more."""
        assert self.sink is not None
        try:
            num_bytes = os.write(self.sink, self.unshown[:_PASS_ON_BYTES])
            del self.unshown[:num_bytes]
        except BlockingIOError:
            pass
        except OSError:
            self.sink = None
            self.unshown.clear()


class Relay:
    def __init__(self, file: ConsoleFile, life: socket.socket, channels: list[Channel]) -> None:
        """`life` ends when the trainer does, or when it lets go of its console."""
        self._file: ConsoleFile | None = file
        self._life, self._channels = life, channels
        self._backlog = bytearray()
        self._newest: Channel | None = None  # where the last of it came from
        self._is_line_over = True
        self._flushed_s = 0.0

    def run(self) -> None:
        """Until nobody can print any more. What others print after the trainer's end is passed on
        alone.
        """
        is_trainer_there = True
        while any(channel.is_open or channel.unshown for channel in self._channels):
            is_held_up = any(c.is_open and not c.reads for c in self._channels)
            ready = self._wait(is_trainer_there, is_held_up)
            sources = [c for c in self._channels if c.source in ready and c.reads]
            is_trainer_there = is_trainer_there and self._life.fileno() not in ready
            num_bytes = 0
            for channel in sources:
                data = channel.read()
                num_bytes += len(data)
                if self._file and data:
                    if channel is not self._newest:  # lines of two streams stay apart
                        self._backlog += b"" if self._is_line_over else b"\n"
                    self._newest, self._is_line_over = channel, data.endswith(b"\n")
                    self._backlog += data
            for channel in self._channels:
                if channel.sink in ready:
                    channel.pass_on()
            if self._file:
                self._keep(self._file)
            if not (is_trainer_there or is_held_up or sources or self._backlog):
                self._end_file()
                if not any(channel.unshown for channel in self._channels):
                    self._life.close()  # the trainer need not wait any longer
            elif 0 < num_bytes < FEW_BYTES:  # a few lines at once cost less than each alone
                is_shown = any(channel.sink is not None for channel in self._channels)
                time.sleep(SHOWN_S if is_shown else QUIET_S)
        self._end_file()

    def _wait(self, is_trainer_there: bool, is_held_up: bool) -> set[int]:
        """The descriptors that are ready."""
        poll = select.poll()
        if is_trainer_there:
            poll.register(self._life, select.POLLIN)
        for channel in self._channels:
            if channel.reads:
                poll.register(channel.source, select.POLLIN)
            if channel.unshown and channel.sink is not None:
                poll.register(channel.sink, select.POLLOUT)
        timeout_ms = None
        if self._file and (self._backlog or not (is_trainer_there or is_held_up)):
            timeout_ms = 0
        elif self._file and self._file.is_changed:
            timeout_ms = int(FLUSH_S * 1000)
        return {fd for fd, _ in poll.poll(timeout_ms)}

    def _keep(self, file: ConsoleFile) -> None:
        """Give the file a part of what was read: reading comes first."""
        if len(self._backlog) > MAX_BACKLOG:
            cut = self._backlog.rfind(b"\n", 0, len(self._backlog) - MAX_BACKLOG // 2) + 1
            cut = cut or len(self._backlog) - MAX_BACKLOG // 2
            note = f"\n[operant: {cut} bytes came too fast to be kept]\n"
            self._backlog[:cut] = note.encode()
        if self._backlog:
            file.feed(bytes(self._backlog[:KEEP_BYTES]))
            del self._backlog[:KEEP_BYTES]
        if file.is_changed and (self._backlog or time.monotonic() - self._flushed_s >= FLUSH_S):
            file.flush()
            self._flushed_s = time.monotonic()

    def _end_file(self) -> None:
        """Keep the rest of what the trainer printed. Another process may go on with the file."""
        if self._file:
            while self._backlog:
                self._keep(self._file)
            self._file.close()
            self._file = None


def main(path: str, life: str, *channels: str) -> None:
    """The file, a socket that ends with the trainer, and SOURCE:SINK of each channel."""
    file = ConsoleFile(Path(path), secret_values(os.environ))
    opened = []
    for channel in channels:
        source, sink = channel.split(":")
        opened.append(Channel(int(source), int(sink) if sink else None))
    Relay(file, socket.socket(fileno=int(life)), opened).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
