"""Polls in a thread of its own, so that a slow disk never holds up the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

View = TypeVar("View")


class PollLoop(Generic[View]):
    """Calls `poll` every `interval_s` and hands what it gave to `deliver`, from `start` to `stop`;
    then `close`, so that what `poll` has open is let go of by the thread that uses it.

    The thread is a daemon: a read that hangs for ever does not keep the program from ending.
    """

    def __init__(
        self,
        poll: Callable[[], View],
        deliver: Callable[[View], object],
        interval_s: Callable[[View], float],
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self._poll, self._deliver, self._interval_s, self._close = poll, deliver, interval_s, close
        self._stopped: threading.Event | None = None

    def start(self) -> None:
        if self._stopped is None:
            self._stopped = threading.Event()
            threading.Thread(
                target=self._run, args=(self._stopped,), name="poll", daemon=True
            ).start()

    def stop(self) -> None:
        if self._stopped:
            self._stopped.set()
        self._stopped = None

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            view = self._poll()
            if stopped.is_set():
                break
            try:
                self._deliver(view)
                interval_s = self._interval_s(view)
            except RuntimeError:  # the screen, or its event loop, has ended
                break
            stopped.wait(interval_s)
        self._close()
