"""Schedules over the run: where a run that goes on is in them, and those that change nothing."""

from __future__ import annotations

import pytest

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.restoring import moved_schedules, scheduled_values


def config_of(algorithm="ppo", total=1000, schedule=None, **settings):
    return make_config(
        {
            "algorithm": algorithm, "num_envs": 10, "rollout_steps": 10, "total_env_steps": total,
            "schedule_env_steps": schedule, algorithm: settings,
        }
    )  # fmt: skip


def test_a_run_that_goes_on_for_longer_says_how_its_schedules_move():
    schedules = {"learning_rate": 1e-3, "learning_rate_schedule": "linear", "clip_coef": 0.2}
    before, longer = (config_of(total=total, **schedules) for total in (1000, 2000))
    assert moved_schedules(before, longer, 1000) == (
        "ppo.learning_rate goes from 0 to 5.00e-4; with schedule_env_steps = 1000 schedules stay "
        "as they were"
    )
    assert moved_schedules(before, config_of(total=2000, schedule=1000, **schedules), 1000) == ""
    assert moved_schedules(before, before, 500) == ""


def test_schedules_may_end_before_the_run_and_stay_at_their_ends():
    config = config_of(
        "dqn", 1000, 500, learning_rate=1e-3, learning_rate_schedule="cosine", epsilon_fraction=0.5
    )
    rates = [
        scheduled_values(config, number)["dqn.learning_rate"] for number in (0, 500, 800, 1000)
    ]
    assert rates == pytest.approx([1e-3, 0.0, 0.0, 0.0])
    epsilons = [
        scheduled_values(config, number)["exploration/epsilon"] for number in (0, 200, 300, 900)
    ]
    assert epsilons == pytest.approx([1.0, 0.24, 0.05, 0.05])


@pytest.mark.parametrize(("fraction", "is_said"), [(0.2, True), (0.21, False)])
def test_an_epsilon_that_has_fallen_within_the_warm_up_is_said(fraction, is_said):
    config = config_of(
        "dqn", 10_000, warmup_env_steps=2000, epsilon_fraction=fraction, epsilon_end=0.1
    )
    (text,) = config.algorithm_section.warnings(config.facts()) or ("",)
    assert text == is_said * (
        "dqn.epsilon_start and dqn.epsilon_fraction change nothing: epsilon is dqn.epsilon_end = "
        "0.1 after 2000 env steps, and all actions are random up to dqn.warmup_env_steps = 2000"
    )
