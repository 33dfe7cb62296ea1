"""The loop polls until it is stopped, and lets go of what it had open."""

from __future__ import annotations

import threading

from textual._context import NoActiveAppError
from waiting import wait_for

from operant.monitor.runs.reading.poll_loop import PollLoop


def test_it_delivers_until_it_is_stopped_and_then_closes():
    views, closed = [], threading.Event()
    loop = PollLoop(lambda: 7, views.append, lambda _: 0.0, closed.set)
    loop.start()
    wait_for(lambda: len(views) > 3)
    loop.stop()
    assert closed.wait(60)
    assert set(views) == {7}


def test_starting_twice_is_starting_once_and_it_starts_again_after_a_stop():
    threads = set()
    loop = PollLoop(lambda: threads.add(threading.get_ident()), lambda _: None, lambda _: 0.0)
    loop.start()
    loop.start()
    wait_for(lambda: threads)
    assert len(threads) == 1
    loop.stop()
    loop.stop()
    threads.clear()
    loop.start()
    wait_for(lambda: threads)
    loop.stop()


def test_it_ends_quietly_when_the_screen_is_gone():
    closed = threading.Event()

    def deliver(view: int) -> None:
        raise RuntimeError("Event loop is closed")

    PollLoop(lambda: 1, deliver, lambda _: 0.0, closed.set).start()
    assert closed.wait(60)


def test_it_ends_quietly_when_the_screen_goes_between_a_delivery_and_the_next_wait():
    closed = threading.Event()

    def interval_s(view: int) -> float:
        raise NoActiveAppError

    PollLoop(lambda: 1, lambda _: None, interval_s, closed.set).start()
    assert closed.wait(60)
