"""The poller follows one run through everything that can happen to it, and raises nothing."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from views import put_page

from operant.monitor.runs.reading.conditions import condition_of
from operant.monitor.runs.reading.run_poller import REOPEN_EVERY_S, RunPoller
from operant.shared import Event, PageError
from operant.shared.processes.lock import RunLock
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import open_page


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def word(view) -> str:
    return condition_of(view.status, view.is_page_expected).word


def publish(session: RunSession, first: int, last: int) -> None:
    for number in range(first, last + 1):
        session.metrics.publish({"loss": float(number)}, number, 10 * number)


def test_the_console_is_read_also_without_a_page(clock):
    run, lock = create_run("test", {})
    run.console_path().write_text("one\n")
    poller = RunPoller(run, clock)
    assert poller.poll().console == ("one",)
    session = RunSession(run, lock, publish_interval_s=100.0)
    publish(session, 1, 3)
    assert poller.poll().console == ("one",)
    session.close("finished", 0)
    with run.console_path().open("a") as file:
        file.write("more\n")
    assert poller.poll().console == ("one", "more")


def test_a_run_is_starting_until_it_publishes(clock):
    run, lock = create_run("test", {})
    poller = RunPoller(run, clock)
    assert word(poller.poll()) == "starting"
    session = RunSession(run, lock, publish_interval_s=100.0)
    assert word(poller.poll()) == "starting"
    publish(session, 1, 3)
    view = poller.poll()
    assert word(view) == "running"
    assert view.publish == 3
    assert view.history.series("loss").mean.tolist() == [1, 2, 3]
    assert [metric.name for metric in view.schema] == ["loss"]
    session.close("finished", 0)
    assert word(poller.poll()) == "finished"


def test_what_did_not_change_is_not_read_again(make_session, clock):
    session = make_session()
    publish(session, 1, 3)
    poller = RunPoller(session.run, clock)
    assert poller.poll().history is poller.poll().history


@pytest.mark.parametrize("num_publishes", [1, 1024, 9000])
def test_an_ended_run_opens_whole_from_the_copy_in_its_folder(make_session, num_publishes, clock):
    session = make_session()
    publish(session, 1, num_publishes)
    session.close("finished", 0, "done")
    view = RunPoller(session.run, clock).poll()
    assert (word(view), view.status.message) == ("finished", "done")
    assert view.history.publish[-1] == num_publishes
    assert view.history.series("loss").low[0] == 1.0


def test_a_resumed_run_is_found_again_at_once(make_session, clock):
    session = make_session()
    publish(session, 1, 5)
    poller = RunPoller(session.run, clock)
    poller.poll()
    session.close("stopped", 130, "Ctrl-C")
    assert word(poller.poll()) == "stopped"

    lock = RunLock(session.run.lock_path)
    resumed = RunSession(session.run, lock, publish_interval_s=100.0, continue_from=3)
    publish(resumed, 4, 6)
    view = poller.poll()
    assert word(view) == "running"
    assert view.history.publish.tolist() == [1, 2, 3, 4, 5, 6]
    resumed.close("finished", 0)


def test_a_page_that_breaks_keeps_what_was_seen_and_says_why(make_session, clock):
    session = make_session()
    publish(session, 1, 5)
    session.metrics.event("info", "hello")
    path = put_page(session, session.metrics.path.read_bytes())
    poller = RunPoller(session.run, clock)
    poller.poll()
    os.truncate(path, 2000)
    view = poller.poll()
    clock.pass_s(5)
    later = poller.poll()
    for broken in (view, later):
        assert "cut short" in broken.status.message
        assert broken.status.iteration == 5
        assert len(broken.history) == 5
        assert [event.text for event in broken.events] == ["hello"]
    assert later.status.age_s >= view.status.age_s + 5


def test_a_page_that_heals_is_read_again(make_session, clock):
    session = make_session()
    publish(session, 1, 2)
    good = session.metrics.path.read_bytes()
    put_page(session, b"")
    poller = RunPoller(session.run, clock)
    assert poller.poll().publish == 0
    put_page(session, good)
    clock.pass_s(REOPEN_EVERY_S)
    assert poller.poll().publish == 2


def test_a_run_whose_folder_vanishes_stays_as_it_was(make_session, clock):
    session = make_session()
    publish(session, 1, 2)
    session.close("finished", 0)
    poller = RunPoller(session.run, clock)
    poller.poll()
    shutil.rmtree(session.run.folder)
    clock.pass_s(REOPEN_EVERY_S)
    assert word(poller.poll()) == "finished"


def test_metrics_without_room_are_counted(make_session, clock):
    session = make_session(max_metrics=1)
    session.metrics.publish({"a": 1.0, "b": 2.0, "c": 3.0})
    assert RunPoller(session.run, clock).poll().num_rejected == 2


# Half of them where a page says what it holds and where.
PLACES = st.floats(0, 1) | st.floats(0, 0.01)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(PLACES, st.binary(min_size=1, max_size=16)), max_size=20))
def test_no_damage_to_a_page_raises(make_session, damages):
    session = make_session(max_metrics=4)
    publish(session, 1, 100)
    session.metrics.event("info", "hello")
    clock = Clock()
    poller = RunPoller(session.run, clock)
    poller.poll()
    with session.metrics.path.open("r+b") as page:
        size = session.metrics.header.layout.page_bytes
        for place, data in damages:
            page.seek(int(place * (size - len(data))))
            page.write(data)
            page.flush()
            clock.pass_s(REOPEN_EVERY_S)
            status = poller.poll().status
            assert (status.run, status.state) == (session.run.id, "running")
            assert "\n" not in status.message
    assert RunPoller(session.run, clock).poll().status.run == session.run.id
    session.close("finished", 0)


def test_errors_nobody_thought_of_stay_inside(make_session, clock, monkeypatch):
    session = make_session()
    publish(session, 1, 2)
    poller = RunPoller(session.run, clock)
    poller.poll()
    reader = open_page(session.run)
    monkeypatch.setattr(type(reader), "read", lambda self: 1 / 0)
    assert "division by zero" in poller.poll().status.message


def test_closing_lets_go_of_the_page(make_session, clock):
    session = make_session()
    publish(session, 1, 2)
    poller = RunPoller(session.run, clock)
    poller.poll()
    reader = poller._reader
    poller.close()
    with pytest.raises(PageError):
        reader.read()


def test_a_view_is_not_changed_by_later_polls(make_session, clock):
    session = make_session()
    publish(session, 1, 2)
    poller = RunPoller(session.run, clock)
    view = poller.poll()
    publish(session, 3, 9)
    session.metrics.event("info", "later")
    poller.poll()
    assert view.history.publish.tolist() == [1, 2]
    assert view.events == ()
    assert all(isinstance(event, Event) for event in poller.poll().events)
