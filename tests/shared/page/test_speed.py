"""Env steps per second: what a run says itself, else what its publishes tell."""

from __future__ import annotations

import pytest

from operant.commands.helpers.output import headline
from operant.shared import Metric
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import (
    AVERAGE_ENV_STEPS_PER_S,
    ENV_STEPS_PER_S,
    ETA_S,
    RunStatus,
    read_status,
)


class Clock:
    def __init__(self) -> None:
        self.ns = 5_000_000_000

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("time.monotonic_ns", clock)
    return clock


@pytest.fixture
def session(clock):
    run, lock = create_run("speed", {})
    session = RunSession(run, lock, publish_interval_s=0)
    yield session
    session.close("finished", 0)


def publish(session, clock, times, seconds, steps, values=None):
    """`times` publishes, `seconds` and `steps` apart; the status after the last."""
    for _ in range(times):
        clock.ns += int(seconds * 1e9)
        session.steps = getattr(session, "steps", 0) + steps
        session.metrics.publish(values or {"loss": 1.0}, 1, session.steps)
    return status(session)


def status(session) -> RunStatus:
    return read_status(session.run)


def test_slow_publishes_tell_the_speed_of_the_last_30_seconds(session, clock):
    assert publish(session, clock, 50, seconds=1.0, steps=100).env_steps_per_s == 100
    # 15 s at 300 and 15 s at 100
    assert publish(session, clock, 15, seconds=1.0, steps=300).env_steps_per_s == 200
    assert publish(session, clock, 15, seconds=1.0, steps=300).env_steps_per_s == 300


def test_a_publish_that_takes_longer_than_the_window_tells_its_own_speed(session, clock):
    publish(session, clock, 5, seconds=1.0, steps=100)
    assert publish(session, clock, 1, seconds=60.0, steps=600).env_steps_per_s == 10


def test_a_run_that_has_ended_has_its_average_not_its_last_speed(session, clock):
    publish(session, clock, 10, seconds=1.0, steps=1280)
    publish(session, clock, 2, seconds=20.0, steps=1280)
    session.close("finished", 0)
    # From the first publish on: 11 publishes of 1280 env steps in 9 + 40 s.
    assert status(session).env_steps_per_s == pytest.approx(11 * 1280 / 49)


def test_a_run_that_has_ended_is_listed_with_the_average_it_says_itself(session, clock):
    said = {ENV_STEPS_PER_S: 775.0, AVERAGE_ENV_STEPS_PER_S: 12_800.0}
    assert publish(session, clock, 5, 1.0, 100, said).env_steps_per_s == 775.0
    session.close("finished", 0)
    assert status(session).env_steps_per_s == 12_800.0


def test_the_time_left_falls_with_the_clock_and_is_not_known_once_it_is_over(session, clock):
    publish(session, clock, 1, 1.0, 100, {ETA_S: 60.0})
    clock.ns += 25 * 10**9
    assert status(session).eta_s == 35.0
    assert headline(status(session)).endswith("35s left")
    clock.ns += 60 * 10**9
    assert status(session).eta_s is None
    assert "left" not in headline(status(session))


def test_a_time_left_that_was_never_said_is_none_and_not_nought(session, clock):
    session.metrics.register(Metric(ETA_S))
    assert publish(session, clock, 1, 1.0, 100).eta_s is None


def test_what_the_run_says_itself_comes_first(session, clock):
    said = publish(session, clock, 5, 1.0, 100, {ENV_STEPS_PER_S: 7.0})
    assert said.env_steps_per_s == 7.0


def test_one_publish_or_no_counted_steps_tell_no_speed(session, clock):
    assert publish(session, clock, 1, 1.0, 100).env_steps_per_s is None
    session.metrics.publish({"loss": 1.0})
    session.metrics.publish({"loss": 1.0})
    assert status(session).env_steps_per_s is None
