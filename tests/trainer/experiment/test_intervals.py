"""Intervals are due when a multiple is reached or crossed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from operant.shared import ConfigError
from operant.trainer.experiment.intervals import Intervals, num_pauses_left


class Clockwork:
    """An experiment of which nothing but the numbers is there, and seconds that are told."""

    def __init__(self, config, num_ranks=1):
        self.config, self.seconds = config, 0.0
        ranks = SimpleNamespace(size=num_ranks)
        self.work = SimpleNamespace(
            config=config, iteration=0, num_started=0, env_steps=0, ranks=ranks,
            rollout_size=config.rollout_size, num_iterations=config.num_iterations,
            is_complete_after=lambda iteration: iteration >= config.num_iterations,
        )  # fmt: skip
        self.intervals = Intervals(self.work, now=lambda: self.seconds)

    def due(self, lost=0):
        """Tasks due after the next iteration; `lost` of its env steps do not count."""
        due = self.intervals.of_next_iteration()
        self.work.iteration += 1
        self.work.num_started += 1
        self.work.env_steps += self.config.rollout_size - lost
        return due


def numbers_with(what, clockwork, count):
    return [number for number in range(1, count + 1) if getattr(clockwork.due(), what)]


def test_iterations_are_due_at_every_multiple_and_one_of_six_is_the_last(small_config):
    options = ("evaluation.every_iterations=4", "checkpoint.every_iterations=2")
    assert numbers_with("evaluation", Clockwork(small_config(*options)), 6) == [4]
    assert numbers_with("is_last", Clockwork(small_config(*options)), 6) == [6]
    assert numbers_with("checkpoint", Clockwork(small_config(*options)), 6) == [2, 4, 6]


def test_several_ranks_save_what_they_would_go_on_from_after_their_first_iteration(small_config):
    config = small_config("checkpoint.every_iterations=3")
    assert numbers_with("checkpoint", Clockwork(config, num_ranks=2), 6) == [1, 3, 6]


def test_env_steps_are_due_when_a_multiple_is_crossed(small_config):
    config = small_config("checkpoint.every_env_steps=300")
    # 128 env steps an iteration: 300 lies in the third, 600 in the fifth.
    assert numbers_with("checkpoint", Clockwork(config), 6) == [3, 5]


def test_seconds_are_due_when_a_multiple_is_crossed(small_config):
    clockwork = Clockwork(small_config("checkpoint.every_s=10"))
    found = []
    for second in (3, 9, 10, 11, 35, 36):
        clockwork.seconds = float(second)
        found.append(clockwork.due().checkpoint)
    assert found == [False, False, True, False, True, False]


def test_dead_env_steps_make_nothing_due_twice(small_config):
    clockwork = Clockwork(small_config("checkpoint.every_env_steps=128", "total_env_steps=1280"))
    # Foreseen are 128, 127 + 128 = 255 and 254 + 128 = 382 env steps.
    assert [clockwork.due(lost=1).checkpoint for _ in range(3)] == [True, False, True]


def test_a_request_comes_first(small_config):
    config = small_config("checkpoint.every_iterations=0")
    clockwork = Clockwork(config)
    intervals = Intervals(clockwork.work, take_request=lambda _: True)
    assert intervals.of_next_iteration().checkpoint


@pytest.mark.parametrize("every", [1, 2, 4, 100, 0])
@pytest.mark.parametrize("iteration", [0, 3, 4, 6])
def test_as_many_evaluations_and_checkpoints_come_as_are_due(small_config, every, iteration):
    config = small_config(
        f"evaluation.every_iterations={every}", f"checkpoint.every_iterations={every}"
    )
    clockwork = Clockwork(config)
    for _ in range(iteration):
        clockwork.due()
    found = num_pauses_left(clockwork.work)
    left = [clockwork.due() for _ in range(iteration, 6)]
    saved_at_the_end = bool(left) and not left[-1].checkpoint
    assert found == {
        "evaluate": sum(due.evaluation or due.is_last for due in left),
        "checkpoint": sum(due.checkpoint for due in left) + saved_at_the_end,
    }


def test_an_interval_has_one_unit(small_config):
    with pytest.raises(ConfigError, match=r"every_iterations = 3 and every_s = 5\.0: an interval"):
        small_config("checkpoint.every_iterations=3", "checkpoint.every_s=5")
    assert small_config("checkpoint.every_s=5").checkpoint.every_iterations == 0
