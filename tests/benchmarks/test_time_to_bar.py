"""How long to a bar: the course that every side runs."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from peers.bars import Course

from operant.trainer.networks.policy import Memoryless


class Falling(Memoryless):
    """Pushes the cart to the left until the pole falls, which takes 8 to 10 steps."""

    def greedy(self, obs):
        return torch.zeros(len(obs), dtype=torch.int64)


def test_a_policy_is_asked_at_every_1024th_env_step_and_the_clock_stands_still_meanwhile(
    monkeypatch,
):
    seconds = iter([0.0, 10.0, 12.0, 100.0, 103.0, 200.0])
    clock = SimpleNamespace(perf_counter=lambda: next(seconds))
    monkeypatch.setattr("peers.bars.time", clock)
    course, restored = Course("dqn", Falling()), []
    course.start()  # at 10
    assert not course.has_arrived(1023)
    assert len(course.returns) == 1  # the one that compiles
    assert not course.has_arrived(1024, lambda: restored.append(True))  # from 12 to 100
    assert not course.has_arrived(1500)
    assert not course.has_arrived(2048)  # at 103
    assert restored == [True]
    assert len(course.returns) == 3
    assert all(8 <= mean <= 11 for mean in course.returns)
    assert course.training_s == (12 - 10) + (103 - 100)
    assert course.env_steps == 2048


def test_a_policy_that_reaches_the_bar_has_arrived():
    course = Course("dqn", Falling())
    course.bar = 8.0
    assert course.has_arrived(1024)
