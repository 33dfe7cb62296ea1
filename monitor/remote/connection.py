"""A stream of frames from operant on another machine, through ssh."""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import IO

from ...shared.errors import OperantError, UsageError
from ...shared.processes.ssh import SHELL_NOT_FOUND, SSH_NOT_REACHED
from ...shared.text.harmless import one_line
from .frames import PROTOCOL, Frame, read_frame, skip_greeting

END_WITHIN_S = 2.0
KEPT_BYTES = 8192  # of standard error
# What ssh says before the reason, which names the host once more.
_OF_SSH = re.compile(r"\Assh: (?:connect to host \S+ port \d+: )?")
# What an operant says that does not know a word of the command it is called by.
_UNKNOWN_WORDS = ("No such option", "No such command")


class Connection:
    """One call of ssh. What is sent the other way is nothing but the end."""

    def __init__(self, host: str, command: Sequence[str]) -> None:
        """Raises UsageError where ssh cannot be started."""
        self._host = host
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as error:
            raise UsageError(f"cannot run {error.filename}: {error.strerror}") from None
        assert self._process.stdout
        assert self._process.stderr
        self._out = self._process.stdout
        self._errors = ErrorTail(self._process.stderr)

    def first_frame(self) -> Frame:
        """Raises UsageError when host or run are wrong, OperantError when the connection fails
        otherwise or the other side speaks another protocol.
        """
        frame = read_frame(self._out, magic_was_read=True) if skip_greeting(self._out) else None
        if frame is None:
            raise self.why_it_ended()
        protocol = frame.head.get("protocol")
        if protocol != PROTOCOL:
            raise OperantError(
                f"{self._host} streams protocol {one_line(str(protocol), 20)}, this operant "
                f"reads {PROTOCOL}; install the same version on both"
            )
        return frame

    def frames(self) -> Iterator[Frame]:
        """The frames after the first until the stream ends. Raises StreamError if it is damaged."""
        while (frame := read_frame(self._out)) is not None:
            yield frame

    def close(self) -> None:
        """End ssh; the stream on the other side ends with it."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_WITHIN_S)
        for pipe in (self._process.stdin, self._out):
            if pipe:
                pipe.close()

    def why_it_ended(self) -> OperantError:
        """From the exit code of ssh or of the remote operant, and the last line of its errors."""
        host = self._host
        try:
            exit_code = self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            return OperantError(f"{host}: the stream ended, and ssh did not")
        said = self._errors.last_line(END_WITHIN_S).removeprefix("operant: ")
        if exit_code == SSH_NOT_REACHED:
            return OperantError(f"cannot reach {host}: {said or 'ssh failed'}")
        if exit_code == SHELL_NOT_FOUND:
            return UsageError(
                f"{host} has no operant where ssh's shell looks; "
                "set OPERANT_REMOTE to the command that starts it there"
            )
        if exit_code == UsageError.exit_code and said.startswith(_UNKNOWN_WORDS):
            return UsageError(
                f"{host} has an older operant, which cannot do this ({said}); "
                "install the same version on both"
            )
        kind = UsageError if exit_code == UsageError.exit_code else OperantError
        return kind(f"{host}: {said or f'the stream ended with exit code {exit_code}'}")


class ErrorTail:
    """Reads a pipe to its end in a thread, and keeps the last of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._tail = b""
        self._thread = threading.Thread(target=self._read, name="ssh-errors", daemon=True)
        self._thread.start()

    def last_line(self, patience_s: float) -> str:
        """The last line, the reason alone where ssh says it, once the pipe has ended or
        `patience_s` are over; empty without one.
        """
        self._thread.join(patience_s)
        lines = self._tail.decode(errors="replace").strip().splitlines() or [""]
        return one_line(_OF_SSH.sub("", lines[-1], count=1), 300)

    def _read(self) -> None:
        with self._pipe:
            while piece := self._pipe.read1(4096):  # type: ignore[attr-defined]
                self._tail = (self._tail + piece)[-KEPT_BYTES:]
