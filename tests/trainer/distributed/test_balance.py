"""Shares follow how fast ranks turn out to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.trainer.distributed.balance import Balance, WorkClock
from operant.trainer.distributed.split import Share, shares

SPEEDS = st.lists(st.floats(0.25, 4), min_size=2, max_size=5)


def lived(balance: Balance, first: list[Share], speeds, iterations, overhead_s=0.0) -> list[Share]:
    """The shares after so many iterations of ranks that do so many environments a second."""
    found = first
    for _ in range(iterations):
        pairs = zip(found, speeds, strict=True)
        worked_us = [round(1e6 * (share.num_envs / speed + overhead_s)) for share, speed in pairs]
        found = balance.after_iteration(worked_us) or found
    return found


def slowest_s(found: list[Share], speeds) -> float:
    return max(share.num_envs / speed for share, speed in zip(found, speeds, strict=True))


@given(SPEEDS, st.integers(64, 5000))
def test_the_slowest_soon_takes_little_longer_than_the_best_split(speeds, num_envs):
    first = shares("auto", num_envs, len(speeds))
    found = lived(Balance(first), first, speeds, 40)
    assert sum(share.num_envs for share in found) == num_envs
    best_s = slowest_s(shares(":".join(map(repr, speeds)), num_envs, len(speeds)), speeds)
    # Within the lag that is put up with, or what one whole environment more or less takes.
    assert slowest_s(found, speeds) <= max(1.031 * best_s, best_s + 2 / min(speeds))


def test_work_that_does_not_shrink_with_the_share_is_no_reason_to_go_on_and_on():
    first = shares("auto", 1000, 2)
    found = lived(Balance(first), first, [300.0, 100.0], 400, overhead_s=1.0)
    slowest = max(share.num_envs / speed for share, speed in zip(found, [300, 100], strict=True))
    assert slowest < 1.1 * 1000 / 400


def test_a_rank_that_slows_later_has_less_after_a_while_and_a_moments_pause_changes_nothing():
    first = shares("auto", 100, 2)
    balance = Balance(first)
    assert lived(balance, first, [50.0, 50.0], 100) == first
    assert lived(balance, first, [50.0, 10.0], 1) == first
    assert lived(balance, first, [50.0, 50.0], 30) == first
    assert lived(balance, first, [50.0, 20.0], 30)[1].num_envs == pytest.approx(100 * 2 / 7, abs=2)


def test_a_little_is_put_up_with_once_the_run_is_under_way():
    first = shares("auto", 1000, 2)
    balance = Balance(first)
    assert lived(balance, first, [500.0, 500.0], 100) == first
    assert lived(balance, first, [500.0, 450.0], 100) == first
    assert lived(balance, first, [500.0, 350.0], 100) != first


def test_the_first_iteration_and_one_after_a_move_do_not_count():
    first = shares("auto", 10, 2)
    balance = Balance(first)
    assert balance.after_iteration([90_000_000, 1_000_000]) is None  # compiled
    assert [balance.after_iteration([500_000, 500_000]) for _ in range(3)] == [None] * 3
    moved = [balance.after_iteration([400_000, 1_600_000]) for _ in range(3)]
    assert moved == [None, None, shares("8:2", 10, 2)]
    assert balance.after_iteration([1_000_000, 90_000_000]) is None


def test_where_nothing_was_done_nothing_is_learned():
    balance = Balance(shares("auto", 10, 2))
    assert [balance.after_iteration([0, 0]) for _ in range(9)] == [None] * 9


def test_the_clock_counts_work_without_waiting():
    now = iter([10.0, 13.0, 14.0, 20.0, 30.0, 31.0])
    clock = WorkClock(lambda: next(now))
    clock.begin()  # at 10
    with clock.waiting():  # 13 to 14
        pass
    clock.end()  # at 20
    assert clock.take_us() == 9_000_000
    clock.begin()
    clock.end()
    assert clock.take_us() == 1_000_000
    assert clock.take_us() == 0
