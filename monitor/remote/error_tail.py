"""The end of what another program writes to its standard error, however much that is."""

from __future__ import annotations

import re
import threading
from typing import IO

from ...shared.text.harmless import one_line

KEPT_BYTES = 8192
# What ssh says before the reason, which names the host once more.
_OF_SSH = re.compile(r"\Assh: (?:connect to host \S+ port \d+: )?")


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
