"""Time as this process had it: another's silence counts only while this one could hear."""

from __future__ import annotations

import threading
import time

TICK_S = 0.1
LONGEST_TICK_S = 0.5
LATELY_S = 15.0


class OwnClock:
    """Counts seconds, of which those in which this process was stopped or held up are left out: a
    paused machine, a frozen container, ctrl-z, more processes than cores. A thread ticks; of a tick
    that comes late `LONGEST_TICK_S` count.
    """

    def __init__(self) -> None:
        self._ticked = (0.0, time.monotonic())  # seconds, and when they were counted
        self._held_up = (0.0, 0.0)  # seconds of the newest time that they stood still, and when
        self._is_over = threading.Event()
        threading.Thread(target=self._tick, name="own clock", daemon=True).start()

    def now(self) -> float:
        seconds, at = self._ticked
        return seconds + min(time.monotonic() - at, LONGEST_TICK_S)

    @property
    def held_up_s(self) -> float:
        """How long this process was stopped lately; 0 where it was not."""
        seconds, at = self._held_up
        return seconds if self.now() - at < LATELY_S else 0.0

    def close(self) -> None:
        self._is_over.set()

    def _tick(self) -> None:
        while not self._is_over.wait(TICK_S):
            at = time.monotonic()
            late_s = at - self._ticked[1] - LONGEST_TICK_S
            self._ticked = (self.now(), at)
            if late_s > LONGEST_TICK_S:
                self._held_up = (late_s, self._ticked[0])
