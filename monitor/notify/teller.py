"""Sends messages from a thread, so that a slow command or service holds up no recorder."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from ...shared.runs.run_folder import Run
from ..recorder.events_file import EventsFile, iso_time
from .message import Message, readable
from .sending import send
from .settings import AlertSettings, is_switched_off

MAX_WAITING = 50
ALERTS_PER_HOUR = 20
HOUR_S = 3600.0
LOOK_AGAIN_S = 0.02


class Teller:
    """Takes messages and returns at once. Each message is written to the run's `sent.log` before it
    is sent, so that no message is sent twice, even by another process.
    """

    def __init__(self, run: Run, settings: Callable[[], AlertSettings]) -> None:
        self._run, self._settings = run, settings
        self._ids: set[str] = set()
        self._told: EventsFile | None = None
        # Messages about stalls and ends, of which a run has few, go before alerts.
        self._waiting: queue.PriorityQueue[tuple[bool, int, Message]] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._alerts_s: deque[float] = deque()
        self._notes: deque[str] = deque()

    def tell(self, message: Message) -> None:
        if is_switched_off() or not self._settings().wants(message) or self._was_told(message):
            return
        if message.is_alert and (reason := self._refusal()):
            self._notes.append(f"further alerts are not sent: {reason}")
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="operant-alerts", daemon=True)
            self._thread.start()
        self._waiting.put((message.is_alert, next(self._numbers), message))

    def take_notes(self) -> list[str]:
        """A line about each thing that went wrong since the last time."""
        return [self._notes.popleft() for _ in range(len(self._notes))]

    def wait(self, patience_s: float) -> bool:
        """Wait at most `patience_s`; return whether all messages were sent."""
        deadline = time.monotonic() + patience_s
        while self._waiting.unfinished_tasks:
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    def close(self, patience_s: float) -> None:
        """Like `wait`, and note how many messages are not sent by then."""
        if not self.wait(patience_s):
            number = self._waiting.unfinished_tasks
            self._notes.append(f"no time was left for {number} messages; they may have arrived")

    def _was_told(self, message: Message) -> bool:
        """Whether somebody has begun to tell it; from now on, somebody has."""
        if message.id in self._ids:
            return True
        self._ids.add(message.id)
        # A full disk is no reason to be silent; it is often what there is to tell.
        with suppress(OSError):
            if self._told is None:
                self._told = EventsFile(self._run.sent_path)
            if self._told.has_text(message.id):
                return True
            line = f"{iso_time(time.time_ns())}  {message.kind:<7}  {message.id}"
            self._told.append([line])
        return False

    def _refusal(self) -> str:
        """Why there is no room for one more alert; empty if there is."""
        now_s = time.monotonic()
        while self._alerts_s and self._alerts_s[0] < now_s - HOUR_S:
            self._alerts_s.popleft()
        if len(self._alerts_s) >= ALERTS_PER_HOUR:
            return f"there were {ALERTS_PER_HOUR} within an hour"
        if self._waiting.qsize() >= MAX_WAITING:
            return f"{MAX_WAITING} wait"
        self._alerts_s.append(now_s)
        return ""

    def _work(self) -> None:
        while True:
            _, _, message = self._waiting.get()
            try:
                problems = send(self._settings(), message)
            # Any error of the system or of a service: the next message must still be sent.
            except Exception as error:
                problems = [type(error).__name__]
            for problem in problems:
                self._notes.append(readable(f"not sent ({message.text}): {problem}"))
            self._waiting.task_done()
