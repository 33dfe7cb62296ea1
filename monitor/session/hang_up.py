"""The end of the terminal, noticed whoever the parent is, and signals that end the monitor."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

LOOK_AGAIN_S = 0.5
GRACE_S = 2.0
SIGNAL_GRACE_S = 20.0  # there is a terminal to give back, which may take long on a busy machine
EXIT_CODE = 129  # as of a process that SIGHUP ended
ENDING = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def waited_for_hang_up(descriptors: list[int], timeout_s: float) -> bool:
    """Wait until the terminal or the reader behind one of `descriptors` has gone, `timeout_s` at
    most; returns whether it has.

    `poll` says so of its own accord, and of nothing else when it is asked for no event: a terminal
    that hung up reads as empty for ever, which `select` takes for input.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, 0)
    return bool(poll.poll(1000 * timeout_s))


def standard_descriptors() -> list[int]:
    """The file descriptors of standard streams that are terminals."""
    found = []
    for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__):
        with suppress(AttributeError, OSError, ValueError):
            if stream and stream.isatty():
                found.append(stream.fileno())
    return found


@contextmanager
def leaving_in_good_order(
    leave: Callable[[int], object],
    descriptors: list[int] | None = None,
    end_process: Callable[[int], object] = os._exit,
) -> Iterator[None]:
    """While inside, call `leave` with an exit code, in a thread of its own, once the terminal has
    gone or a signal asks the process to end.

    What has not left after a while ends with its process: Textual may wait for ever to draw on a
    terminal that nobody has.
    """
    watched = standard_descriptors() if descriptors is None else descriptors
    is_over = threading.Event()

    def end(exit_code: int, grace_s: float) -> None:
        _in_thread(lambda: leave(exit_code))
        if not is_over.wait(grace_s):
            end_process(exit_code)

    def watch() -> None:
        while not is_over.is_set():
            if waited_for_hang_up(watched, LOOK_AGAIN_S):
                end(EXIT_CODE, GRACE_S)
                return

    def on_signal(number: int, frame: FrameType | None) -> None:
        _in_thread(lambda: end(128 + number, SIGNAL_GRACE_S))

    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, on_signal)
    if watched:
        _in_thread(watch)
    try:
        yield
    finally:
        is_over.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_thread(act: Callable[[], object]) -> None:
    def quietly() -> None:
        with suppress(Exception):
            act()

    threading.Thread(target=quietly, name="operant-ending", daemon=True).start()
