"""Ctrl-C and SIGTERM as requests to stop in good order."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_requests() -> Iterator[list[int]]:
    """Collects the stop signals that arrive inside; the second of a kind acts as usual."""
    received: list[int] = []

    def request_stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        print("operant: finishing the iteration, then saving a checkpoint", file=sys.stderr)

    former = {number: signal.signal(number, request_stop) for number in STOP_SIGNALS}
    try:
        yield received
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
