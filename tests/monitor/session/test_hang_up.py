"""A terminal that goes is noticed, and a monitor that does not leave is ended."""

from __future__ import annotations

import os
import threading

import pytest
from waiting import wait_for

from operant.monitor.session.hang_up import EXIT_CODE, leaving_in_good_order, waited_for_hang_up


@pytest.fixture
def terminal():
    """(its own end, the end that a program has)."""
    keys, screen = os.openpty()
    yield keys, screen
    os.close(screen)


def test_keys_and_a_full_screen_are_no_hang_up(terminal):
    keys, screen = terminal
    os.write(keys, b"q\n")
    assert not waited_for_hang_up([screen], 0)
    os.close(keys)
    assert waited_for_hang_up([screen], 0)


def test_the_reader_of_a_pipe_that_goes_is_noticed():
    reader, writer = os.pipe()
    assert not waited_for_hang_up([writer], 0)
    os.close(reader)
    assert waited_for_hang_up([writer], 0)
    os.close(writer)


def test_the_monitor_is_asked_to_leave_and_is_not_ended_when_it_does(terminal):
    keys, screen = terminal
    left, ended = threading.Event(), []
    with leaving_in_good_order(lambda _: left.set(), [screen], ended.append):
        os.close(keys)
        assert wait_for(left.is_set)
    assert ended == []


def test_one_that_cannot_leave_is_ended(terminal, monkeypatch):
    monkeypatch.setattr("operant.monitor.session.hang_up.GRACE_S", 0.01)
    keys, screen = terminal
    never, ended = threading.Event(), []
    with leaving_in_good_order(lambda _: never.wait(), [screen], ended.append):
        os.close(keys)
        assert wait_for(lambda: ended == [EXIT_CODE])
    never.set()
