"""Metrics and events published between iterations."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from operant.trainer.experiment.intervals import NOTHING
from operant.trainer.running.health import Health
from operant.trainer.running.telemetry import PUBLISH_INTERVAL_S, Telemetry


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Work:
    iteration = 0
    env_steps = 0
    env_steps_so_far = 0
    unplanned_env_steps = 0
    planned_env_steps = 1000
    work_done: object = 0


class Page:
    """Remembers what was published."""

    def __init__(self):
        self.rows, self.events, self.phases = [], [], []

    def publish(self, values, iteration, env_steps):
        self.rows.append((dict(values), iteration, env_steps))

    def phase(self, name, done=None, total=None, unit="", left_s=None):
        self.phases.append((name, done, total, unit))

    def event(self, level, text, env_steps):
        self.events.append((level, text))


@pytest.fixture
def parts():
    page, work, clock = Page(), Work(), Clock()
    return page, work, clock, Telemetry(page, work, clock)


def publish(telemetry, values=()):
    """Publish the row of an iteration with these metrics."""
    row = dict(values)
    telemetry.after(row, NOTHING)
    telemetry.publish(row)


def finish_iteration(parts, seconds, env_steps, values=None):
    """Published values."""
    page, work, clock, telemetry = parts
    clock.now += seconds
    work.iteration += 1
    work.env_steps += env_steps
    work.env_steps_so_far = work.env_steps
    publish(telemetry, values or {})
    return page.rows[-1][0]


def test_an_iteration_has_its_speed_progress_and_time_left(parts):
    page = parts[0]
    finish_iteration(parts, 9.0, 100)
    values = finish_iteration(parts, 2.0, 100, {"loss/policy": 0.5})
    assert page.rows[-1][1:] == (2, 200)
    assert values["loss/policy"] == 0.5
    assert values["speed/env_steps_per_s"] == 50.0
    assert values["progress/fraction"] == 0.2
    assert values["progress/eta_s"] == 800 / 50


def test_no_time_left_is_promised_by_iterations_that_compile_or_only_fill_the_replay(parts):
    def left_s(seconds, num_updates):
        values = {"updates/count": float(num_updates)}
        return finish_iteration(parts, seconds, 10, values)["progress/eta_s"]

    assert math.isnan(left_s(30.0, 0))
    assert math.isnan(left_s(0.01, 0))
    assert math.isnan(left_s(40.0, 1))  # at 1000 a second before
    assert left_s(2.0, 2) == 960 / 5


def test_progress_is_published_when_it_is_time_and_there_is_some(parts):
    page, work, clock, telemetry = parts
    work.work_done, work.env_steps_so_far = 1, 30
    telemetry.tick()
    assert page.rows == []  # too early
    clock.now += PUBLISH_INTERVAL_S
    telemetry.tick()
    telemetry.tick()
    ((values, *place),) = page.rows
    assert place == [0, 30]
    assert values["progress/fraction"] == 0.03
    assert math.isnan(values["progress/eta_s"])
    clock.now += 100 * PUBLISH_INTERVAL_S
    telemetry.tick()
    assert len(page.rows) == 1  # it hangs


def test_phases_and_other_add_up_to_the_wall_time_between_two_publishes(parts):
    page, _, clock, telemetry = parts
    for _ in range(3):
        with telemetry.stopwatch.phase("collect"):
            clock.now += 1.5
        clock.now += 0.125  # in no phase
        with telemetry.stopwatch.phase("learn"):
            clock.now += 0.25
        with telemetry.stopwatch.phase("evaluate"):
            clock.now += 4.0
        publish(telemetry)
    for values, _, _ in page.rows:
        assert values["time/other_s"] == 0.125
        assert sum(values[name] for name in values if name.startswith("time/")) == 5.875


def test_phases_that_were_timed_elsewhere_still_add_up(parts):
    page, _, clock, telemetry = parts
    with telemetry.stopwatch.phase("checkpoint"):
        clock.now += 1.0
    clock.now += 2.0  # for the host, all that the GPU does is other
    publish(telemetry, {"time/collect_s": 1.25, "time/learn_s": 0.5})
    times = {name: value for name, value in page.rows[0][0].items() if name.startswith("time/")}
    assert times["time/other_s"] == 0.25
    assert sum(times.values()) == 3.0


def test_a_phase_of_the_stopwatch_is_one_of_the_page_and_after_a_pause_comes_the_one_before(parts):
    page, _, clock, telemetry = parts
    with telemetry.stopwatch.phase("collect"):
        pass
    with telemetry.stopwatch.phase("learn"), telemetry.stopwatch.phase("publish"):
        pass
    with telemetry.stopwatch.phase("evaluate"):
        clock.now += 1
        telemetry.progress(37, 100, "episodes")
        telemetry.progress(38, 100, "episodes")  # at the same moment: nobody could see it
    assert page.phases == [
        ("collecting", None, None, ""),
        ("learning", None, None, ""),
        ("evaluating", None, None, ""),
        ("evaluating", 37, 100, "episodes"),
        ("learning", None, None, ""),
    ]


def test_the_speed_is_that_of_training_evaluations_and_checkpoints_left_out(parts):
    page, work, clock, telemetry = parts
    for iteration in range(1, 101):
        clock.now += 0.5
        with telemetry.stopwatch.phase("evaluate"):
            clock.now += 20.0 if iteration % 10 == 0 else 0.0
        with telemetry.stopwatch.phase("checkpoint"):
            clock.now += 3.0 if iteration % 25 == 0 else 0.0
        work.iteration, work.env_steps = iteration, 50 * iteration
        publish(telemetry)
    speeds = [values["speed/env_steps_per_s"] for values, _, _ in page.rows]
    assert speeds == pytest.approx([100.0] * 100)
    assert page.rows[-1][0]["speed/average_env_steps_per_s"] == pytest.approx(100)


def test_the_average_of_a_resumed_run_is_that_of_both_its_parts():
    page, work, clock = Page(), Work(), Clock()
    work.iteration, work.env_steps = 10, 1000  # at 50 a second: 20 s
    work.planned_env_steps = 3000
    telemetry = Telemetry(page, work, clock, average_before=50.0)
    clock.now += 5.0
    work.iteration, work.env_steps = 11, 2000
    publish(telemetry)
    assert page.rows[0][0]["speed/env_steps_per_s"] == 200.0
    assert page.rows[0][0]["speed/average_env_steps_per_s"] == 80.0  # 2000 in 25 s


@pytest.mark.parametrize(
    ("name", "value"),
    [("loss/policy", math.nan), ("optimizer/grad_norm", -math.inf)],
)
def test_the_first_loss_that_is_no_number_is_told_once_with_its_iteration(parts, name, value):
    page, work, _, telemetry = parts
    work.iteration = 6
    publish(telemetry, {"loss/policy": 0.5, "episode/return": math.nan})
    work.iteration = 7
    publish(telemetry, {name: value})
    work.iteration = 8
    publish(telemetry, {name: value, "loss/value": math.nan})
    assert page.events == [("error", f"{name} is {value} in iteration 7")]


@pytest.mark.parametrize("unplanned", [0, 100])
def test_progress_ends_at_one_with_env_steps_before_the_first_rollout(parts, unplanned):
    page, work, clock, telemetry = parts
    clock.now = 2.0
    work.unplanned_env_steps = unplanned
    work.iteration = 10
    work.env_steps = work.env_steps_so_far = 1000 + unplanned
    publish(telemetry)
    assert page.rows[0][0]["progress/fraction"] == 1.0
    work.env_steps = work.env_steps_so_far = 500 + unplanned
    publish(telemetry)
    assert page.rows[1][0]["progress/fraction"] == 0.5


@pytest.mark.parametrize("average_before", [math.nan, 10.0])
def test_speeds_leave_out_an_iteration_that_compiled(average_before):
    page, work, clock = Page(), Work(), Clock()
    work.env_steps = 500
    telemetry = Telemetry(page, work, clock, average_before=average_before)
    telemetry.is_to_compile = True
    parts = page, work, clock, telemetry
    finish_iteration(parts, 100.0, 100)
    row = finish_iteration(parts, 10.0, 100)
    assert row["speed/env_steps_per_s"] == pytest.approx(10.0)
    assert row["speed/average_env_steps_per_s"] == pytest.approx(10.0)
    assert finish_iteration(parts, 10.0, 100)["progress/eta_s"] == pytest.approx(20.0)


@pytest.fixture
def health_parts(parts):
    """The parts of a run of two environments, and `finish(n)` for iterations of n env steps."""
    page, _, _, telemetry = parts
    algorithm = SimpleNamespace(
        updates_per_iteration=0, num_updates=0, finite_updates=SimpleNamespace(num_skipped=0)
    )
    experiment = Work()
    experiment.algorithm, experiment.config = algorithm, SimpleNamespace(num_rows=2)
    experiment.take_notices = list
    health = Health(experiment, telemetry)

    def finish(env_steps, num_episodes=0):
        experiment.env_steps += env_steps
        health.after({"episode/count": float(num_episodes)}, NOTHING)

    return page, health, finish


def test_episodes_that_never_end_are_said_once(health_parts):
    page, health, finish = health_parts
    finish(9_999)
    assert page.events == []
    finish(1)
    finish(1_000)
    health.end()
    ((level, text),) = page.events
    assert level == "warning"
    assert text.startswith("no episode has ended after 10,000 env steps: there are no returns")


@pytest.mark.parametrize(
    ("count", "env_steps", "num_said"), [(0, 2000, 1), (0, 1999, 0), (1, 2000, 0)]
)
def test_at_the_end_fewer_env_steps_are_enough_to_say_it(health_parts, count, env_steps, num_said):
    page, health, finish = health_parts
    finish(500, count)
    finish(env_steps - 500)
    health.end()
    assert len(page.events) == num_said
