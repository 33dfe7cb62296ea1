"""Stop signals: repeats at once count as one, a later one ends at once, in good order both."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from waiting import wait_for

from operant.shared.runs.run_folder import create_run
from operant.trainer.running import process, signals
from operant.trainer.running.signals import stop_requests

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize("first", STOPS)
def test_signals_within_two_seconds_count_as_one(first, capfd):
    with stop_requests() as received:
        received.end_at_once = os._exit
        for number in (first, *STOPS, first):
            os.kill(os.getpid(), number)
        assert received[0] == first
    assert capfd.readouterr().err.count("finishing the iteration") == 1


@pytest.mark.parametrize("later", [signal.SIGINT, signal.SIGTERM])
def test_a_later_one_ends_at_once_by_a_thread_as_the_main_one_may_hang(later, monkeypatch):
    monkeypatch.setattr(signals, "REPEATS_WITHIN_S", 0.0)
    ended = []

    def end_at_once(number):
        ended.append((number, threading.current_thread() is threading.main_thread()))

    with stop_requests(says=False) as received:
        received.end_at_once = end_at_once
        os.kill(os.getpid(), signal.SIGTERM)
        assert received == [signal.SIGTERM]
        os.kill(os.getpid(), later)
        wait_for(lambda: ended)
    assert ended == [(later, False)]


def test_the_end_of_the_terminal_never_ends_at_once(monkeypatch):
    monkeypatch.setattr(signals, "REPEATS_WITHIN_S", 0.0)
    with stop_requests(says=False) as received:
        received.end_at_once = os._exit
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGHUP)
        assert received == [signal.SIGHUP] * 3


def test_before_there_is_a_run_a_later_one_is_an_exit(monkeypatch):
    monkeypatch.setattr(signals, "REPEATS_WITHIN_S", -1.0)
    with pytest.raises(SystemExit) as caught, stop_requests(says=False):
        os.kill(os.getpid(), signal.SIGTERM)
    assert caught.value.code == 143


def test_a_run_whose_end_cannot_be_written_is_left_all_the_same(monkeypatch, capfd):
    run, lock = create_run("run", {})
    lock.release()
    codes = []
    monkeypatch.setattr(process.os, "_exit", codes.append)
    session = SimpleNamespace(close=Mock(side_effect=OSError("a full disk")))
    with pytest.raises(OSError, match="a full disk"):
        process._end_at_once(run, session, signal.SIGTERM)
    assert codes == [143]
    assert "by a later SIGTERM; it has no checkpoint" in capfd.readouterr().err


def test_a_forked_childs_signals_are_its_own(monkeypatch):
    monkeypatch.setattr(signals, "REPEATS_WITHIN_S", -1.0)
    ended = []
    with stop_requests(says=False) as received:
        received.end_at_once = ended.append
        child = os.fork()
        if not child:
            os.kill(os.getpid(), signal.SIGHUP)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert not received
    assert ended == []
