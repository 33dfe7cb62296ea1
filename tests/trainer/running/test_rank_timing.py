"""What a rank measures of itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from operant.trainer.distributed.process_group import DistributedGroup, WaitClock
from operant.trainer.distributed.split import shares
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.running.rank_timing import OwnShare


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


def test_a_process_that_is_alone_has_no_such_phase(clock):
    assert "time/all_reduce_s" not in Stopwatch(clock).take()


def test_a_rank_tells_its_share_and_how_long_it_waits(clock):
    ranks = DistributedGroup(1, shares("3:1", 40, 2), lambda _: None)
    experiment = SimpleNamespace(
        config=SimpleNamespace(num_envs=40), ranks=ranks, iteration=0, env_steps=0
    )
    stopwatch = Stopwatch(clock)
    share = OwnShare(experiment, stopwatch)
    for _ in range(3):
        with stopwatch.phase("learn"):
            clock.now_s += 2
            ranks.clock.waited_s += 0.5
        experiment.iteration += 1
        experiment.env_steps += 4000
        told = share.of_iteration()
    # 2000 env steps a second, of which a quarter; a quarter of the time in sums
    assert told == {
        "rank/num_envs": 10, "rank/env_steps_per_s": 500, "rank/iteration_s": 2,
        "rank/waiting_fraction": 0.25,
    }  # fmt: skip


def test_sums_are_timed(clock):
    def slow(tensor: torch.Tensor) -> None:
        clock.now_s += 3

    ranks = DistributedGroup(0, shares("", 2, 2), slow)
    ranks.clock = WaitClock(clock)
    ranks.sum(torch.ones(1))
    ranks.gather(torch.ones(1))
    assert ranks.clock.waited_s == 6
