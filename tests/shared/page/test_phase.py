"""The page holds the run's current phase; a run that reports one is not stalled."""

from __future__ import annotations

import json

import pytest
from waiting import wait_for

from operant.shared import MetricsReader, MetricsWriter
from operant.shared.page.layout import PHASE
from operant.shared.page.phase import PHASES, Phase
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

AT_ONCE = 1e-9  # seconds: whoever promises a publish so often is always late


@pytest.fixture
def page(operant_pages):
    path = operant_pages / "p"
    writer = MetricsWriter.create(path, "the-run", publish_interval_s=0.5)
    return writer, MetricsReader.attach(path)


@pytest.fixture
def begun():
    """A run that this process has begun, and its page, whose every silence is too long."""
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=AT_ONCE)
    yield run, session.metrics
    session.close("finished", 0)


@pytest.mark.parametrize("name", PHASES)
def test_a_phase_is_read_as_it_was_written(page, name):
    writer, reader = page
    assert reader.phase() is None
    writer.phase(name, 9, 14, "loops")
    phase = reader.phase()
    assert (phase.name, phase.done, phase.total, phase.unit) == (name, 9, 14, "loops")
    writer.phase(name)
    assert (reader.phase().done, reader.phase().total, reader.phase().unit) == (None, None, "")


def test_a_phase_began_when_it_was_first_said_however_often_it_is_said(page):
    writer, reader = page
    writer.phase("evaluating", 0, 100)
    first = reader.phase()
    writer.phase("evaluating", 37, 100)
    again = reader.phase()
    assert again.since_ns == first.since_ns
    assert again.beat_ns > first.beat_ns
    writer.phase("learning")
    assert reader.phase().since_ns > first.since_ns


def test_a_beat_is_a_sign_of_life_that_changes_nothing_else(page):
    writer, reader = page
    writer.phase("saving", 1, 2, "files")
    before = reader.phase()
    writer.beat()
    after = reader.phase()
    assert after.beat_ns > before.beat_ns
    assert Phase(**{**vars(after), "beat_ns": before.beat_ns}) == before


def test_another_word_is_refused_and_named(page):
    writer, _ = page
    with pytest.raises(
        ValueError, match="phase = 'dreaming' is unknown: expected one of compiling, coll"
    ):
        writer.phase("dreaming")


def test_a_record_with_any_byte_wrong_behind_the_beat_is_no_phase():
    record = Phase("evaluating", 1, 2, 37, 100, "episodes").encode()
    assert Phase.decode(record) == Phase("evaluating", 1, 2, 37, 100, "episodes")
    for place in range(8, PHASE.size):
        wrong = bytearray(record)
        wrong[place] ^= 0x40
        assert Phase.decode(bytes(wrong)) is None


def test_after_its_end_a_page_is_left_as_it_is(page):
    writer, reader = page
    writer.phase("saving")
    writer.remove()
    writer.phase("learning")
    writer.beat()
    assert reader.phase().name == "saving"


def test_the_status_tells_the_phase_and_how_far_it_is(begun):
    run, metrics = begun
    metrics.phase("compiling", 9, 14, "loops")
    said = json.loads(json.dumps(read_status(run).as_json()))
    assert (said["state"], said["message"]) == ("running", "starting")
    assert said["phase"] == "compiling"
    assert (said["phase_done"], said["phase_total"], said["phase_unit"]) == (9, 14, "loops")
    assert said["phase_s"] >= 0


def test_the_time_left_falls_by_itself_and_is_unknown_once_it_has_passed(begun):
    run, metrics = begun
    metrics.phase("compiling", 1, 5, "loops", 30.0)
    first = read_status(run).phase_left_s
    metrics.beat()  # which says nothing of it
    assert 0 < read_status(run).phase_left_s < first <= 30
    metrics.phase("compiling", 1, 5, "loops", 1e-9)
    assert read_status(run).phase_left_s is None
    metrics.phase("compiling", 1, 5, "loops")
    assert read_status(run).phase_left_s is None


@pytest.mark.parametrize("name", ["compiling", "evaluating", "saving", "restoring"])
def test_a_phase_in_which_nothing_can_be_seen_for_long_is_no_stall(begun, name):
    run, metrics = begun
    metrics.publish({"a": 1.0})
    wait_for(lambda: read_status(run).state == "stalled")
    metrics.phase(name)
    assert (read_status(run).state, read_status(run).phase) == ("running", name)


def test_another_phase_is_stalled_when_its_beats_are_late(begun):
    run, metrics = begun
    metrics.publish({"a": 1.0})
    metrics.phase("learning", 37, 100)
    wait_for(lambda: read_status(run).state == "stalled")
    assert read_status(run).phase == "learning"


def test_an_evaluation_that_beats_is_running_however_old_the_last_publish_is(monkeypatch):
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=0.25)
    session.metrics.publish({"a": 1.0})
    # 8 intervals of 0.25 s are 2 s.
    monkeypatch.setattr(MetricsReader, "age_s", lambda self, snapshot: 2.5)
    assert read_status(run).state == "stalled"
    session.metrics.phase("learning", 37, 100)
    assert read_status(run).state == "running"
    monkeypatch.setattr(MetricsReader, "seconds_since", lambda self, monotonic_ns: 2.1)
    assert read_status(run).state == "stalled"
    session.metrics.phase("saving")
    assert read_status(run).state == "running"
    monkeypatch.setattr(MetricsReader, "seconds_since", lambda self, monotonic_ns: 61.0)
    monkeypatch.setattr(MetricsReader, "age_s", lambda self, snapshot: 61.0)
    assert read_status(run).state == "stalled"
    session.close("finished", 0)


def test_a_run_that_has_ended_is_in_no_phase():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=0.25)
    session.metrics.publish({"a": 1.0})
    session.metrics.phase("saving")
    session.close("finished", 0)
    assert (read_status(run).state, read_status(run).phase) == ("finished", None)
