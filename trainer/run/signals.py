"""Ctrl-C, SIGTERM and the end of the terminal as requests to stop in good order; other signals as
other requests.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ...shared.requests import SIGNALS, Request

STDERR = 2
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Received(list[int]):
    """The stop signals that arrived, and what else was asked for since it was last taken."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: set[int] = set()

    def ask(self, number: int, frame: FrameType | None) -> None:
        self._asked.add(number)

    def take(self, request: Request) -> bool:
        """Whether there was such a request; it is then done with."""
        was_asked = SIGNALS[request] in self._asked
        self._asked.discard(SIGNALS[request])
        return was_asked


@contextmanager
def stop_requests(says: bool = True) -> Iterator[Received]:
    """Collects the signals that arrive inside, and `says` so; the second stop signal of a kind acts
    as usual. A process that is deaf to the end of its terminal, as under nohup, stays so.
    """
    received = Received()

    def request_stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        if not says:
            return
        # Past Python's buffer, in whose midst this may be called; the terminal may have gone.
        with suppress(OSError):
            os.write(STDERR, b"operant: finishing the iteration, then saving a checkpoint\n")

    former = {
        number: signal.signal(number, request_stop)
        for number in STOP_SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP
    }
    for number in set(SIGNALS.values()) - set(STOP_SIGNALS):
        former[number] = signal.signal(number, received.ask)
    try:
        yield received
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def exit_by_sigterm() -> Iterator[None]:
    """SIGTERM is an ordinary exit inside, so that what was begun there is ended as well."""
    former = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
