"""Tells the receivers of a user's settings, each in a thread of its own that may hang or fail."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from ...shared.runs.run_folder import Run
from ..recorder.events_file import EventsFile, iso_time
from .message import Message, readable
from .receivers import Receiver
from .settings import AlertSettings, is_switched_off

QUEUE = 50
HOUR_S = 3600.0
LOOK_AGAIN_S = 0.02


class Teller:
    """Takes messages and returns at once. Each message is written to the run's `told.log` before it
    is sent, so that no message is sent twice, even by another process.
    """

    def __init__(self, run: Run, settings: Callable[[], AlertSettings]) -> None:
        self._run, self._settings = run, settings
        self._ids: set[str] = set()
        self._told: EventsFile | None = None
        self._threads: dict[Receiver, ReceiverThread] = {}
        self._former: list[ReceiverThread] = []  # of receivers that the settings have no more
        self._notes: deque[str] = deque()

    def tell(self, message: Message) -> None:
        if is_switched_off():
            return
        known = self._settings().receivers
        self._let_go_of_all_but(known)
        receivers = [one for one in known if one.wants(message)]
        if not receivers or self._was_told(message):
            return
        for receiver in receivers:
            if receiver not in self._threads:
                self._threads[receiver] = ReceiverThread(receiver, self._notes.append)
            self._threads[receiver].put(message)

    def take_notes(self) -> list[str]:
        """A line about each thing that went wrong since the last time."""
        return [self._notes.popleft() for _ in range(len(self._notes))]

    def wait(self, patience_s: float) -> bool:
        """Wait at most `patience_s`; return whether all messages were sent."""
        deadline = time.monotonic() + patience_s
        while any(not thread.is_idle for thread in self._all()):
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True

    def close(self, patience_s: float) -> None:
        """Like `wait`, but drop and note the messages that are not sent by then."""
        self.wait(patience_s)
        for thread in self._all():
            thread.give_up()

    def _all(self) -> list[ReceiverThread]:
        return [*self._threads.values(), *self._former]

    def _let_go_of_all_but(self, known: Sequence[Receiver]) -> None:
        """Threads of receivers that are gone from the settings tell what waits, and end."""
        for receiver in self._threads.keys() - set(known):
            self._former.append(self._threads.pop(receiver))
        for thread in [former for former in self._former if former.is_idle]:
            self._former.remove(thread)
            thread.give_up()

    def _was_told(self, message: Message) -> bool:
        """Whether somebody has begun to tell it; from now on, somebody has."""
        if message.id in self._ids:
            return True
        self._ids.add(message.id)
        # A full disk is no reason to be silent; it is often what there is to tell.
        with suppress(OSError):
            if self._told is None:
                self._told = EventsFile(self._run.told_path)
            if self._told.has_text(message.id):
                return True
            line = f"{iso_time(time.time_ns())}  {message.kind:<7}  {message.id}"
            self._told.append([line])
        return False


class ReceiverThread:
    """Tells one receiver one thing after the other. Alerts wait in a queue that has an end, and
    there are so many an hour; how a run ends goes before them.
    """

    def __init__(self, receiver: Receiver, note: Callable[[str], None]) -> None:
        self._receiver, self._note = receiver, note
        self._waiting: deque[Message] = deque()
        self._now: Message | None = None
        self._alerts_s: deque[float] = deque()
        self._num_dropped = 0
        self._is_given_up = False
        self._change = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=receiver.name, daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        with self._change:
            return not self._waiting and self._now is None

    def put(self, message: Message) -> None:
        with self._change:
            if not message.is_alert:
                place = sum(not waiting.is_alert for waiting in self._waiting)
                self._waiting.insert(place, message)
            elif reason := self._refusal():
                self._drop(reason)
                return
            else:
                self._waiting.append(message)
            self._change.notify()

    def give_up(self) -> None:
        """Begin nothing more."""
        with self._change:
            self._is_given_up = True
            left = [*([self._now] if self._now else []), *self._waiting]
            self._waiting.clear()
            self._change.notify()
        for message in left:
            self._note(_not_told(self._receiver, message, "no time was left; it may have arrived"))
        if self._num_dropped:
            self._note(f"{self._receiver.name} was not told of {self._num_dropped} alerts in all")

    def _refusal(self) -> str:
        """Why there is no room for one more alert."""
        now_s = time.monotonic()
        while self._alerts_s and self._alerts_s[0] < now_s - HOUR_S:
            self._alerts_s.popleft()
        if len(self._alerts_s) >= self._receiver.alerts_per_hour:
            return f"there were {self._receiver.alerts_per_hour} within an hour"
        if len(self._waiting) >= QUEUE:
            return f"it is slow, and {QUEUE} wait"
        self._alerts_s.append(now_s)
        return ""

    def _drop(self, reason: str) -> None:
        if not self._num_dropped:
            self._note(f"{self._receiver.name} is not told of further alerts: {reason}")
        self._num_dropped += 1

    def _work(self) -> None:
        while message := self._next():
            try:
                problem = tell(self._receiver, message, self._pause)
            # Any error of the system or a library: the next message must still be sent.
            except Exception as error:
                problem = type(error).__name__
            with self._change:
                self._now = None
                if problem and not self._is_given_up:
                    self._note(_not_told(self._receiver, message, problem))

    def _next(self) -> Message | None:
        with self._change:
            while not self._waiting and not self._is_given_up:
                self._change.wait()
            self._now = self._waiting.popleft() if self._waiting else None
            return self._now

    def _pause(self, seconds: float) -> bool:
        with self._change:
            return self._change.wait_for(lambda: self._is_given_up, seconds)


def tell(receiver: Receiver, message: Message, wait: Callable[[float], bool]) -> str:
    """Run its command, or call its webhook; why that failed, nothing where it did not. `wait` is
    for so many seconds, between two tries; it says whether there is to be none.
    """
    if receiver.command:
        from .command import run_command

        return run_command(receiver, message)
    from .webhook import post  # which imports what is needed for nothing else

    return post(receiver, message, wait)


def _not_told(receiver: Receiver, message: Message, reason: str) -> str:
    return readable(f"{receiver.name} was not told ({message.text}): {reason}")
