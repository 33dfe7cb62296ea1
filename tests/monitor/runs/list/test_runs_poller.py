"""The list looks often at what lives, once at what has ended, and survives broken runs."""

from __future__ import annotations

import shutil

import pytest
from views import put_page

from operant.monitor.runs.list import runs_poller
from operant.monitor.runs.list.runs_poller import (
    CHECKED_AT_ONCE,
    NEW_AT_ONCE,
    RETURNS_EVERY_S,
    RETURNS_FOR_S,
    RunsPoller,
)
from operant.shared.processes.lock import RunLock
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


@pytest.fixture
def looked_at(monkeypatch) -> list[str]:
    """The ids of the runs that were read, in order."""
    ids: list[str] = []
    look_at = runs_poller._look_at

    def note(run, known):
        ids.append(run.id)
        return look_at(run, known)

    monkeypatch.setattr(runs_poller, "_look_at", note)
    return ids


def states(view) -> list[str]:
    return [row.status.state for row in view.rows]


def test_the_newest_run_is_first_and_runs_come_and_go(make_session):
    poller = RunsPoller()
    first = make_session("first")
    assert [row.run for row in poller.poll().rows] == [first.run]
    second = make_session("second")
    assert [row.run for row in poller.poll().rows] == [second.run, first.run]
    shutil.rmtree(first.run.folder)
    assert {row.run for row in poller.poll().rows} == {second.run, first.run}  # it lives
    first.close("finished", 0)
    assert [row.run for row in poller.poll().rows] == [second.run]


def test_ended_runs_are_read_once_and_living_ones_each_time(make_session, looked_at):
    alive, ended = make_session("alive"), make_session("ended")
    ended.close("finished", 0)
    poller = RunsPoller()
    for _ in range(3):
        view = poller.poll()
    assert looked_at.count(alive.run.id) == 3
    assert looked_at.count(ended.run.id) == 1
    assert states(view) == ["finished", "running"]


def test_the_device_that_a_trainer_adds_is_told_once_it_is_there(make_session):
    run, poller = make_session("run").run, RunsPoller()
    run.write_manifest({"config": {"device": "auto", "seed": 1}})
    assert poller.poll().rows[0].device == "auto"
    run.write_manifest({"config": {"device": "auto", "seed": 2}, "device": "cpu"})
    (row,) = poller.poll().rows
    assert (row.device, row.config["seed"]) == ("cpu", 2)
    written = row.described_by
    assert poller.poll().rows[0].described_by == written is not None
    shutil.rmtree(run.folder)  # it lives, and what was told of it holds
    assert poller.poll().rows[0].device == "cpu"


def test_an_ended_run_grows_older_without_being_read(make_session, looked_at):
    session = make_session()
    session.metrics.publish({"a": 1.0})
    session.close("finished", 0)
    clock = iter([100.0, 100.0, 160.0]).__next__
    poller = RunsPoller(clock)
    first, later = (poller.poll().rows[0].status.age_s for _ in range(2))
    assert later == pytest.approx(first + 60)
    assert len(looked_at) == 1


def test_an_end_and_a_resumption_are_both_seen(make_session):
    session = make_session()
    session.metrics.publish({"a": 1.0})
    poller = RunsPoller()
    assert states(poller.poll()) == ["running"]
    session.close("stopped", 130)
    assert states(poller.poll()) == ["stopped"]
    lock = RunLock(session.run.lock_path)
    resumed = RunSession(session.run, lock, publish_interval_s=100.0)
    assert states(poller.poll()) == ["running"]
    resumed.close("finished", 0)


def test_many_runs_are_read_a_few_at_a_time(operant_home, looked_at):
    for number in range(NEW_AT_ONCE + CHECKED_AT_ONCE + 5):
        _run, lock = create_run(f"run-{number}", {})
        lock.release()
    poller = RunsPoller()
    first = poller.poll()
    assert not first.is_complete
    assert len(first.rows) == NEW_AT_ONCE + CHECKED_AT_ONCE + 5
    assert len(looked_at) == NEW_AT_ONCE
    while not poller.poll().is_complete:
        pass
    assert len(looked_at) == len(set(looked_at)) == len(first.rows)


def test_one_broken_run_does_not_hide_the_others(make_session, operant_home):
    good, bad = make_session("good"), make_session("bad")
    good.metrics.publish({"a": 1.0})
    put_page(bad, b"rubbish" * 1000)
    lost = operant_home / "runs" / "20261121-000000-lost-aaaa"  # nearly all of its files
    lost.mkdir()
    (lost / "lock").touch()
    rows = {row.run.id: row for row in RunsPoller().poll().rows}
    assert rows[good.run.id].status.age_s is not None
    assert "not an operant page" in rows[bad.run.id].status.message
    assert rows[lost.name].status.state == "crashed"


def test_returns_are_read_once_and_again_when_the_run_went_on(make_session):
    now = [100.0]
    session = make_session("curve")
    for step in range(64):
        session.metrics.publish({"episode/return": float(step)}, step, 10 * step)
    poller = RunsPoller(lambda: now[0])
    (row,) = poller.poll().rows
    assert len(row.returns) == 32
    assert row.returns[0] < row.returns[-1] <= 63.0
    session.metrics.publish({"episode/return": 1000.0}, 64, 640)
    assert poller.poll().rows[0].returns == row.returns
    now[0] += RETURNS_EVERY_S
    assert max(poller.poll().rows[0].returns) > 63.0
    session.metrics.publish({"episode/return": 9000.0}, 65, 650)
    session.close("finished", 0)
    now[0] += 1.0
    assert max(poller.poll().rows[0].returns) > 1000.0


def test_returns_are_read_for_a_while_and_then_the_list_is_shown(make_session):
    now = [0.0]

    def clock() -> float:
        now[0] += RETURNS_FOR_S / 2
        return now[0]

    for i in range(8):
        make_session(f"run-{i}").metrics.publish({"episode/return": 1.0}, 1, 1)
    poller = RunsPoller(clock)
    first = poller.poll()
    assert first.is_complete
    assert not first.has_returns
    assert 0 < sum(bool(row.returns) for row in first.rows) < 8


def test_a_run_that_cannot_be_looked_at_is_a_row_and_hides_no_other(monkeypatch, operant_home):
    for name in ("odd", "good"):
        create_run(name, {})[1].release()
    status_in_list = runs_poller.status_in_list

    def raising(run):
        if "odd" in run.id:
            raise ValueError("\x1b[31mno\nnumber")
        return status_in_list(run)

    monkeypatch.setattr(runs_poller, "status_in_list", raising)
    poller = RunsPoller()
    for _ in range(2):
        rows = {row.run.id[16:-5]: row.status for row in poller.poll().rows}
        assert rows["odd"].message == "cannot be looked at: [31mno number"
        assert (rows["odd"].state, rows["good"].state) == ("crashed", "crashed")
    monkeypatch.undo()
