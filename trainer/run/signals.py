"""Ctrl-C and SIGTERM as requests to stop in good order, SIGUSR1 as one for a checkpoint."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ...shared.requests import SIGNALS

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Received(list[int]):
    """The stop signals that arrived, and whether a checkpoint was asked for since the last."""

    def __init__(self) -> None:
        super().__init__()
        self._wants_checkpoint = False

    def ask_for_checkpoint(self, number: int, frame: FrameType | None) -> None:
        self._wants_checkpoint = True

    def take_checkpoint_request(self) -> bool:
        """Whether there was one; it is then done with."""
        wanted, self._wants_checkpoint = self._wants_checkpoint, False
        return wanted


@contextmanager
def stop_requests() -> Iterator[Received]:
    """Collects the signals that arrive inside; the second stop signal of a kind acts as usual."""
    received = Received()

    def request_stop(number: int, frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, signal.SIG_DFL)
        with suppress(OSError):  # the terminal may have gone
            print("operant: finishing the iteration, then saving a checkpoint", file=sys.stderr)

    former = {number: signal.signal(number, request_stop) for number in STOP_SIGNALS}
    checkpoint = SIGNALS["checkpoint"]
    former[checkpoint] = signal.signal(checkpoint, received.ask_for_checkpoint)
    try:
        yield received
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
