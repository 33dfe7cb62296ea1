"""Who is lost becomes known to all."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import timedelta

import pytest
from torch import distributed

from operant.trainer.distributed import watch as watching
from operant.trainer.distributed.watch import ENDED, ProcessClock, RankLostError, Watch

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


def test_the_timings_of_all_ranks_are_known_to_rank_0(watches):
    for watch in watches[1:]:
        watch.timing = (1.0, float(watch._rank))
    deadline = time.monotonic() + 5
    while len(watches[0].timings) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert watches[0].timings == {1: (1.0, 1.0), 2: (1.0, 2.0)}


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


def test_who_has_ended_is_not_missed(watches):
    watches[1].say(ENDED)
    watches[1].close()
    assert not lost_within(watches[0], 1.5)


def test_who_is_said_to_be_gone_and_is_not_says_that_it_was_held_up(watches):
    watches[0].lost = f"{NAMES[1]} is gone: it has said nothing for 6 s"
    assert lost_within(watches[1], 5) == (
        f"{NAMES[1]} was held up: {NAMES[0]} heard nothing of it, and ended"
    )


def test_a_pause_of_the_whole_machine_is_no_silence(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(ProcessClock, "_tick", lambda _: None)
    clock = ProcessClock()
    began = clock.now()
    now[0] += 0.3
    assert clock.now() - began == pytest.approx(0.3)
    now[0] += 1000.0
    assert clock.now() - began == pytest.approx(watching.MAX_TICK_S)


def test_who_was_held_up_and_is_left_alone_says_so(watches):
    watches[0]._clock._held_up = (12.0, watches[0]._clock.now())
    watches[2].close()
    assert lost_within(watches[0], 5) == f"{NAMES[0]} was held up for 12 s, and others ended"


def test_a_moment_in_which_this_one_was_held_up_blames_nobody_else(watches):
    watches[0]._clock._held_up = (0.9, watches[0]._clock.now())
    watches[2].close()
    assert lost_within(watches[0], 5).startswith(f"{NAMES[2]} is gone")


SILENT_FOR_S = 1.5
WATCHING = """
import sys, time
from datetime import timedelta
from torch import distributed
from operant.trainer.distributed import watch as watching
watching.SILENT_FOR_S = float(sys.argv[3])
port, rank = int(sys.argv[1]), int(sys.argv[2])
store = distributed.TCPStore("127.0.0.1", port, 2, False, timedelta(seconds=20))
watch = watching.Watch(distributed.PrefixStore("test", store), rank, ["rank 0", "rank 1"])
print("watches", flush=True)
for line in sys.stdin:
    held_up_s = 0.0
    for _ in range(10):
        watch.check()
        held_up_s = max(held_up_s, watch._clock.held_up_s)
        time.sleep(0.2)
    print("well" if held_up_s > 1 else f"held up for {held_up_s} s", flush=True)
"""


def test_ranks_that_are_all_stopped_for_long_go_on():
    store = distributed.TCPStore(
        "127.0.0.1", 0, 2, True, timedelta(seconds=5), wait_for_workers=False
    )
    ranks = [
        subprocess.Popen([sys.executable, "-c", WATCHING, str(store.port), str(rank),
                          str(SILENT_FOR_S)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for rank in (1, 0)
    ]  # fmt: skip
    try:
        assert [rank.stdout.readline() for rank in ranks] == ["watches\n"] * 2
        for rank in ranks:
            rank.send_signal(signal.SIGSTOP)
        time.sleep(2 * SILENT_FOR_S)
        for rank in ranks:
            rank.send_signal(signal.SIGCONT)
        for rank in ranks:
            rank.stdin.write("check\n")
            rank.stdin.flush()
        assert [rank.stdout.readline() for rank in ranks] == ["well\n"] * 2
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
