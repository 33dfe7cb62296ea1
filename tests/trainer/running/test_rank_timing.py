"""Ranks measure their timing; rank 0 publishes it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from operant.trainer.config.metrics import rank_metrics
from operant.trainer.distributed.process_group import DistributedGroup, WaitClock
from operant.trainer.distributed.split import shares
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.running.rank_timing import RankTable


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


def test_waiting_for_others_is_a_phase_of_its_own(clock):
    stopwatch, sums_s = Stopwatch(clock), 0.0
    stopwatch.sums_s = lambda: sums_s
    for _ in range(2):
        with stopwatch.phase("collect"):
            clock.now_s += 2
        with stopwatch.phase("learn"):
            clock.now_s += 3
            sums_s += 1
        clock.now_s += 0.5  # in which ranks agree on what comes next: in no phase
        sums_s += 0.5
        taken = {name: s for name, s in stopwatch.take().items() if s}
        assert taken == {
            "time/collect_s": 2, "time/learn_s": 2, "time/all_reduce_s": 1, "time/other_s": 0.5,
        }  # fmt: skip
    assert stopwatch.all_reduce_s == 2


def test_rank_0_publishes_every_rank_at_most_once_a_second(clock):
    ranks = DistributedGroup(0, shares("3:1", 40, 2), lambda _: None)
    ranks.watch = SimpleNamespace(timings={1: (1.75, 0.25)})
    experiment = SimpleNamespace(ranks=ranks, iteration=0)
    stopwatch = Stopwatch(clock)
    table = RankTable(experiment, stopwatch, clock)
    rows = []
    for seconds in (2, 2, 0.5):
        with stopwatch.phase("learn"):
            clock.now_s += seconds
            ranks.clock.waited_s += seconds / 4
        experiment.iteration += 1
        rows.append(table.row(2000.0))
    # three quarters of the environments and of the time
    assert rows[1] == {
        "rank/0/num_envs": 30, "rank/0/env_steps_per_s": 1500,
        "rank/0/work_s": 1.5, "rank/0/wait_s": 0.5,
        "rank/1/num_envs": 10, "rank/1/env_steps_per_s": 500,
        "rank/1/work_s": 1.75, "rank/1/wait_s": 0.25,
    }  # fmt: skip
    assert rows[2] == {}
    assert rows[0].keys() == {metric.name for metric in rank_metrics(2)} - {"time/all_reduce_s"}


def test_a_rank_whose_timing_is_not_known_yet_has_its_share(clock):
    ranks = DistributedGroup(0, shares("", 2, 2), lambda _: None)
    table = RankTable(SimpleNamespace(ranks=ranks, iteration=0), Stopwatch(clock), clock)
    assert {name for name in table.row(1.0) if "/1/" in name} == {
        "rank/1/num_envs", "rank/1/env_steps_per_s",
    }  # fmt: skip


def test_sums_are_timed(clock):
    def slow(tensor: torch.Tensor) -> None:
        clock.now_s += 3

    ranks = DistributedGroup(0, shares("", 2, 2), slow)
    ranks.clock = WaitClock(clock)
    ranks.sum(torch.ones(1))
    ranks.gather(torch.ones(1))
    assert ranks.clock.waited_s == 6
