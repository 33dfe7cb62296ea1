"""Env steps per second: what a run says itself, else what its newest publishes tell."""

from __future__ import annotations

import pytest

from operant.shared.run_folder import create_run
from operant.shared.session import RunSession
from operant.shared.status import ENV_STEPS_PER_S, RunStatus, read_rank_status


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
    run, lock = create_run("speed", {}, rank=0)
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
    return read_rank_status(session.run, 0)


def test_slow_publishes_tell_the_speed_of_the_last_32(session, clock):
    assert publish(session, clock, 50, seconds=1.0, steps=100).env_steps_per_s == 100
    assert publish(session, clock, 16, seconds=1.0, steps=300).env_steps_per_s == 200
    assert publish(session, clock, 16, seconds=1.0, steps=300).env_steps_per_s == 300


def test_fast_publishes_tell_the_speed_of_more_than_a_second(session, clock):
    # 256 publishes of 10 ms: 200 at 100 steps/s, the last 56 at 900.
    publish(session, clock, 300, seconds=0.01, steps=1)
    status = publish(session, clock, 56, seconds=0.01, steps=9)
    assert status.env_steps_per_s == pytest.approx((200 + 56 * 9) / 2.56)


def test_what_the_run_says_itself_comes_first(session, clock):
    said = publish(session, clock, 5, 1.0, 100, {ENV_STEPS_PER_S: 7.0})
    assert said.env_steps_per_s == 7.0


def test_one_publish_or_no_counted_steps_tell_no_speed(session, clock):
    assert publish(session, clock, 1, 1.0, 100).env_steps_per_s is None
    session.metrics.publish({"loss": 1.0})
    session.metrics.publish({"loss": 1.0})
    assert status(session).env_steps_per_s is None


def test_publishes_at_one_moment_tell_a_finite_speed(session, clock):
    assert publish(session, clock, 3, seconds=0.0, steps=0).env_steps_per_s == 0.0
