"""Ctrl-C, SIGTERM and the end of the terminal as requests to stop in good order; other signals as
other requests.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ...shared.page.requests import SIGNALS, Request

STDERR = 2
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEATS_WITHIN_S = 2.0  # of the first: `timeout` and impatient people send several at once


class Requests(list[int]):
    """The stop signals that arrived, and the other requests since they were last taken.

    `end_at_once` is called with the number of a later stop signal. It must not return, and runs in
    a thread of its own: the main thread may hang in a library. While it is None, such a signal
    raises SystemExit in the main thread. Where the process is not the run's alone, as a notebook's
    is not, it never `ends_process`: a later signal raises KeyboardInterrupt there.
    """

    def __init__(self, says: bool = False, ends_process: bool = True) -> None:
        super().__init__()
        self.end_at_once: Callable[[int], None] | None = None
        self._says, self._ends_process = says, ends_process
        self._first_s = 0.0
        self._asked: set[int] = set()

    @property
    def stop(self) -> bool:
        """Whether training should stop in good order."""
        return bool(self)

    def on_stop_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler of stop signals, in the main thread."""
        now_s = time.monotonic()
        if not self:
            self._first_s = now_s
        if is_later(number, now_s - self._first_s):
            if not self._ends_process:
                raise KeyboardInterrupt
            if self.end_at_once is None:
                sys.exit(128 + number)
        self.append(number)
        if self._says and len(self) == 1:
            say("finishing the iteration, then saving a checkpoint; again: ending at once")

    def request_stop(self, number: int) -> None:
        """Ask for a stop as this signal does, from any thread of this process."""
        if not self:
            self._first_s = time.monotonic()
        self.append(number)

    def on_request_signal(self, number: int, frame: FrameType | None) -> None:
        """The handler of other signals."""
        self._asked.add(number)

    def take(self, request: Request) -> bool:
        """Whether this was requested since it was last taken."""
        was_asked = SIGNALS[request] in self._asked
        self._asked.discard(SIGNALS[request])
        return was_asked

    def watch(self, wakeups: int) -> None:
        """Read the numbers of arriving signals from the pipe `wakeups` until it is closed. By a
        clock of its own: what the main thread saw this thread may see seconds later.
        """
        first_s: float | None = None
        while arrived := os.read(wakeups, 1):
            number, now_s = arrived[0], time.monotonic()
            if number in STOP_SIGNALS:
                first_s = now_s if first_s is None else first_s
                ends = self.end_at_once if self._ends_process else None
                if is_later(number, now_s - first_s) and ends:
                    ends(number)


def is_later(number: int, since_first_s: float) -> bool:
    """Whether a stop signal is more than a repeat of the first. The end of the terminal never is:
    nobody asks for haste by it.
    """
    return number != signal.SIGHUP and since_first_s > REPEATS_WITHIN_S


@contextmanager
def stop_requests(says: bool = True, ends_process: bool = True) -> Iterator[Requests]:
    """Collect the signals that arrive inside. The first stop signal asks to stop in good order,
    and `says` so; repeats within two seconds count as one; a later one ends the process at once.

    A process that is deaf to the end of its terminal, as under nohup, stays so. Outside of the main
    thread, where Python lets nobody handle signals, none is collected.
    """
    received = Requests(says, ends_process)
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    handled = [
        number
        for number in STOP_SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN or number != signal.SIGHUP
    ]
    wakeups, written_by_signals = os.pipe()
    os.set_blocking(written_by_signals, False)
    _written_by_signals.add(written_by_signals)
    watching = threading.Thread(target=received.watch, args=(wakeups,), name="signals", daemon=True)
    watching.start()
    former_wakeups = signal.set_wakeup_fd(written_by_signals, warn_on_full_buffer=False)
    former = {number: signal.signal(number, received.on_stop_signal) for number in handled}
    for number in set(SIGNALS.values()) - set(STOP_SIGNALS):
        former[number] = signal.signal(number, received.on_request_signal)
    try:
        yield received
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(former_wakeups)
        _written_by_signals.discard(written_by_signals)
        os.close(written_by_signals)
        watching.join()
        os.close(wakeups)


_written_by_signals: set[int] = set()  # pipes


def _leave_the_parents_pipes() -> None:
    """A forked child that is sent a signal would write it to its parent's pipe."""
    if _written_by_signals:
        _written_by_signals.clear()
        signal.set_wakeup_fd(-1)


os.register_at_fork(after_in_child=_leave_the_parents_pipes)


def say(text: str) -> None:
    """Print on standard error past Python's buffer, amid which a signal may come; the terminal may
    have gone.
    """
    with suppress(OSError):
        os.write(STDERR, f"operant: {text}\n".encode())


@contextmanager
def exit_by_sigterm() -> Iterator[None]:
    """SIGTERM is an ordinary exit inside, so that what was begun there is ended as well."""
    former = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
