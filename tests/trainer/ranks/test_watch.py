"""Who is lost becomes known to all."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from torch import distributed

from operant.trainer.ranks import watch as watching
from operant.trainer.ranks.watch import ENDED, RankLostError, Watch

NAMES = ("rank 0 (laptop, process 1)", "rank 1 (mini, process 2)", "rank 2 (air, process 3)")


@pytest.fixture
def store():
    found = distributed.TCPStore(
        "127.0.0.1", 0, 3, True, timedelta(seconds=5), wait_for_workers=False
    )
    return distributed.PrefixStore("test", found)


@pytest.fixture
def watches(store, monkeypatch):
    """Three ranks that watch one another, in short intervals."""
    monkeypatch.setattr(watching, "INTERVAL_S", 0.05)
    monkeypatch.setattr(watching, "SILENT_FOR_S", 1.0)
    found = [Watch(store.clone(), rank, NAMES) for rank in (1, 2, 0)]
    yield sorted(found, key=lambda watch: watch._rank)
    for watch in found:
        watch.close()


def lost_within(watch: Watch, seconds: float) -> str:
    deadline = time.monotonic() + seconds
    while not watch.lost and time.monotonic() < deadline:
        time.sleep(0.02)
    return watch.lost


def test_nobody_is_lost_while_all_are_well(watches):
    time.sleep(1.5)
    for watch in watches:
        watch.check()


def test_a_rank_that_says_nothing_is_named_to_all(watches):
    watches[2].close()
    for watch in watches[:2]:
        assert lost_within(watch, 5).startswith(f"{NAMES[2]} is gone: it has said nothing for")
        with pytest.raises(RankLostError, match="rank 2"):
            watch.check()


def test_a_rank_that_fails_says_why(watches):
    watches[1].say("out of memory")
    for watch in (watches[0], watches[2]):
        assert lost_within(watch, 5) == f"{NAMES[1]} failed: out of memory"


def test_rank_0_is_watched_by_all(watches):
    watches[0].say("the disk is full")
    for watch in watches[1:]:
        assert lost_within(watch, 5) == f"{NAMES[0]} failed: the disk is full"


def test_who_has_ended_is_not_missed(watches):
    watches[1].say(ENDED)
    watches[1].close()
    assert not lost_within(watches[0], 1.5)
