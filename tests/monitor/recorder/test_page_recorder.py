"""A run's page becomes rows, messages and a copy, whatever becomes of page, disk and process."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from command_line import operant_json
from kept_rows import series
from mounts import fill, tmpfs
from recorded import event_texts, publishes

from operant.monitor.recorder.events_file import EventsFile
from operant.monitor.recorder.every_row import TAKEN_EVERY_S
from operant.monitor.recorder.page_recorder import COPY_EVERY_S, PageRecorder
from operant.monitor.runs.reading.alerts import alerts_in
from operant.shared import MetricsReader
from operant.shared.processes.lock import RunLock, lock_holder
from operant.shared.rows.row_file_reader import RowFileReader, num_lost
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import read_status

LATER_S = 3.0  # rows are due by then


@dataclass
class Clock:
    """Stands until it is moved."""

    now_s: float = 100.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Recorded:
    """A run of this process and its recorder, which looks when told to."""

    run: object
    clock: Clock = field(default_factory=Clock)
    complaints: list[str] = field(default_factory=list)
    session: RunSession | None = None

    def begin(self, continue_from: int | None = None) -> None:
        lock = RunLock(self.run.lock_path)
        self.session = RunSession(
            self.run, lock, publish_interval_s=60.0, continue_from=continue_from, recorder=None
        )
        self.restart_recorder()

    def restart_recorder(self) -> None:
        self.recorder = PageRecorder(
            self.run,
            EventsFile(self.run.events_path),
            is_alive=lambda: lock_holder(self.run.lock_path) is not None,
            complain=self.complaints.append,
            now=self.clock,
        )

    def publish(self, *numbers: int) -> None:
        for number in numbers:
            self.session.metrics.publish({"a": number}, number, 10 * number)

    def look(self, later_s: float = LATER_S) -> None:
        self.clock.now_s += later_s
        self.recorder.look()

    def die(self) -> None:
        """Simulate a killed run: free the lock and record no outcome."""
        self.session._lock.release()
        self.session.metrics.leave()
        self.session._is_open = False

    @property
    def pages(self) -> list[str]:
        return os.listdir(os.environ["OPERANT_PAGES"])


def begun() -> Recorded:
    """A new run, recorded from its beginning."""
    run, lock = create_run("test", {})
    lock.release()
    recorded = Recorded(run)
    recorded.begin()
    return recorded


@pytest.fixture
def recorded():
    recorded = begun()
    yield recorded
    recorded.session.close("stopped", 0)


def test_rows_are_taken_every_second_while_something_is_published(recorded):
    recorded.look()
    assert publishes(recorded.run) == []
    recorded.publish(1)
    recorded.look()
    recorded.publish(2, 3)
    recorded.look(later_s=TAKEN_EVERY_S / 2)
    assert publishes(recorded.run) == [1]
    recorded.look(later_s=TAKEN_EVERY_S / 2)
    recorded.look()
    assert publishes(recorded.run) == [1, 2, 3]


def test_a_crash_is_told_once_and_the_page_moves_to_the_run_folder(recorded):
    recorded.publish(1, 2)
    recorded.look()
    recorded.publish(3)
    recorded.session.metrics.event("warning", "hot")
    recorded.die()
    recorded.look(later_s=0.0)
    assert publishes(recorded.run)[-1] == 3
    expected = ["hot", f"crashed: process {os.getpid()} ended without saying why"]
    assert event_texts(recorded.run) == expected
    assert recorded.pages == []
    status = read_status(recorded.run)
    assert (status.state, status.metrics) == ("crashed", {"a": 3.0})
    assert recorded.complaints == []

    recorded.restart_recorder()
    recorded.look()
    assert event_texts(recorded.run) == expected
    assert publishes(recorded.run)[-1] == 3


def test_an_orderly_end_keeps_the_copy_of_the_run_itself(recorded):
    recorded.publish(1)
    recorded.look()
    recorded.publish(2)
    recorded.session.close("finished", 0, "done")
    before = MetricsReader.attach(recorded.run.page_copy_path)
    recorded.look(later_s=0.0)
    after = MetricsReader.attach(recorded.run.page_copy_path)
    assert after.outcome() == before.outcome()
    assert after.read() == before.read()
    before.detach()
    after.detach()
    assert publishes(recorded.run) == [1, 2]
    assert event_texts(recorded.run) == []
    assert read_status(recorded.run).state == "finished"


def test_a_run_that_could_not_leave_its_copy_gets_one(recorded):
    recorded.publish(1)
    recorded.look()
    recorded.session.metrics.finish("failed", 1, "no room")
    recorded.die()
    recorded.look()
    assert recorded.pages == []
    assert read_status(recorded.run).message == "no room"


def test_the_copy_follows_and_survives_the_page(recorded, operant_pages):
    recorded.publish(1)
    recorded.look()
    for page in operant_pages.iterdir():
        page.unlink()
    recorded.publish(2)
    recorded.look(later_s=COPY_EVERY_S)
    copy = MetricsReader.attach(recorded.run.page_copy_path)
    assert copy.read().metrics == {"a": 2.0}
    copy.detach()
    recorded.publish(3)
    recorded.die()
    recorded.look()
    assert publishes(recorded.run) == [1, 2, 3]
    assert read_status(recorded.run).metrics == {"a": 3.0}


def test_a_resumed_run_has_one_line_of_time(recorded):
    recorded.publish(*range(1, 9))
    recorded.look()
    recorded.publish(9, 10)
    recorded.die()
    recorded.look()
    assert publishes(recorded.run) == list(range(1, 11))
    recorded.begin(continue_from=8)  # the checkpoint was there
    recorded.look()
    assert publishes(recorded.run) == list(range(1, 9))
    recorded.publish(90)
    recorded.look()
    assert publishes(recorded.run) == list(range(1, 10))
    assert series(recorded.run, "a")[-2:] == [(80, 8), (900, 90)]
    recorded.restart_recorder()
    recorded.look()
    assert publishes(recorded.run) == list(range(1, 10))


def test_a_recorder_that_lives_through_a_resumption_goes_on_with_the_new_page(recorded):
    recorded.publish(1, 2, 3)
    recorded.look()
    first = recorded.recorder
    recorded.die()
    recorded.begin(continue_from=2)
    recorded.recorder = first
    recorded.publish(4, 5, 6)
    recorded.look()
    assert [value for _, value in series(recorded.run, "a")] == [1, 2, 4, 5, 6]
    recorded.session.close("finished", 0)
    recorded.look()
    assert read_status(recorded.run).state == "finished"
    assert recorded.pages == []


def test_rows_of_a_run_whose_page_is_lost_stay_and_new_ones_count_from_one(recorded):
    recorded.publish(1, 2, 3)
    recorded.look()
    recorded.session.close("stopped", 0)
    recorded.run.page_copy_path.unlink()
    recorded.begin(continue_from=3)
    recorded.publish(7)
    recorded.look()
    assert publishes(recorded.run) == [1, 2, 3, 1]


def test_messages_of_a_page_that_counts_them_from_one_again_are_written(recorded):
    for text in ("first", "second", "third"):
        recorded.session.metrics.event("info", text)
    recorded.publish(1)
    recorded.look()
    first = recorded.recorder
    recorded.die()
    (page,) = recorded.pages
    os.unlink(f"{os.environ['OPERANT_PAGES']}/{page}")
    recorded.run.page_copy_path.unlink()
    recorded.begin(continue_from=1)
    recorded.recorder = first  # which lives through the resumption
    recorded.session.metrics.event("info", "after the resumption")
    recorded.publish(2)
    recorded.look()
    assert event_texts(recorded.run) == ["first", "second", "third", "after the resumption"]


def test_the_page_of_a_process_that_goes_on_with_the_run_is_not_removed(recorded):
    recorded.publish(1)
    recorded.look()
    first = recorded.recorder
    recorded.die()
    answers = iter([False])  # dead when it looks, resumed before it removes the page
    first._is_alive = lambda: next(answers, True)
    recorded.begin(continue_from=1)
    first.look()
    assert len(recorded.pages) == 1


def test_what_is_left_of_a_process_that_died_making_its_page_is_removed(recorded):
    recorded.die()
    (page,) = recorded.pages
    folder = os.environ["OPERANT_PAGES"]
    os.rename(f"{folder}/{page}", f"{folder}/.{page}.building")
    recorded.run.place_path.unlink()
    recorded.look()
    assert recorded.pages == []
    assert event_texts(recorded.run) == ["crashed: the process ended without saying why"]


def test_an_unreadable_page_is_told_and_the_next_one_is_recorded(recorded, operant_pages):
    recorded.publish(1)
    (page,) = operant_pages.iterdir()
    whole = page.read_bytes()
    os.truncate(page, 100)
    recorded.look()
    assert "too short to be a page" in recorded.complaints[0]
    page.write_bytes(whole)
    recorded.look()
    assert publishes(recorded.run) == [1]


def test_a_page_cut_short_while_it_is_read_spoils_no_copy(recorded, operant_pages):
    recorded.publish(1)
    recorded.look()
    (page,) = operant_pages.iterdir()
    os.truncate(page, 5000)
    recorded.look(later_s=COPY_EVERY_S)
    assert "cut short" in "\n".join(recorded.complaints)
    copy = MetricsReader.attach(recorded.run.page_copy_path)
    assert copy.read().publish == 1
    copy.detach()
    recorded.session.metrics._is_open = False  # its mapping has no bytes any more


def test_a_full_disk_is_told_and_nothing_is_missing_once_there_is_room(tmp_path, monkeypatch):
    with tmpfs(tmp_path / "disk", "24m") as disk:
        monkeypatch.setenv("OPERANT_HOME", str(disk))
        recorded = begun()
        run = recorded.run
        recorded.publish(1)
        recorded.look()
        fill(disk)
        recorded.session.metrics.event("info", "full")
        for number in (2, 3, 4):
            recorded.publish(number)
            recorded.look(later_s=COPY_EVERY_S)
        assert all("No space left" in complaint for complaint in recorded.complaints)
        (disk / "filler").unlink()
        recorded.publish(5)
        recorded.die()
        recorded.look()
        assert publishes(run)[-1] == 5
        assert event_texts(run)[0] == "full"
        assert event_texts(run)[-1].startswith("crashed")
        assert not list(run.folder.glob(".*"))
        assert recorded.pages == []
        recorded.session.close("stopped", 0)


def test_without_room_for_the_copy_the_page_stays_on_memory(tmp_path, monkeypatch):
    with tmpfs(tmp_path / "disk", "1m") as disk:
        monkeypatch.setenv("OPERANT_HOME", str(disk))
        recorded = begun()
        run = recorded.run
        fill(disk)
        recorded.publish(1)
        recorded.die()
        recorded.look()
        assert len(recorded.pages) == 1
        assert read_status(run).metrics == {"a": 1.0}


def test_a_page_that_found_no_room_on_memory_is_kept_all_the_same(tmp_path, monkeypatch):
    with tmpfs(tmp_path / "pages", "1m") as pages:
        monkeypatch.setenv("OPERANT_PAGES", str(pages))
        recorded = begun()
        run = recorded.run
        recorded.publish(1, 2)
        recorded.look()
        assert recorded.pages == []
        assert not recorded.recorder.has_lost_its_writer()  # though it has no lock
        recorded.publish(3)
        recorded.die()
        recorded.look()
        assert publishes(run)[-1] == 3
        copy = MetricsReader.attach(run.page_copy_path)
        assert copy.read().metrics == {"a": 3.0}
        copy.detach()


def test_a_page_that_is_let_go_of_has_lost_its_writer_until_that_is_seen(recorded):
    recorded.publish(1)
    recorded.look()
    assert not recorded.recorder.has_lost_its_writer()
    recorded.die()
    assert recorded.recorder.has_lost_its_writer()
    recorded.look()
    assert not recorded.recorder.has_lost_its_writer()


def test_a_run_that_is_recorded_to_its_end_keeps_no_file_open(recorded):
    def open_files() -> list[str]:
        links = Path("/proc/self/fd").iterdir()
        return [os.readlink(link) for link in links if link.is_symlink()]

    recorded.publish(1, 2)
    recorded.look()
    assert any(str(recorded.run.folder) in name for name in open_files())
    recorded.die()
    recorded.look()
    assert not [name for name in open_files() if str(recorded.run.folder) in name]


def test_an_alert_is_written_once_with_its_numbers_whatever_recorder_comes_after(recorded):
    recorded.publish(*range(1, 40))
    recorded.session.metrics.publish({"a": float("nan")}, 40, 400)
    recorded.look()
    recorded.restart_recorder()
    recorded.publish(*range(41, 60))
    recorded.session.metrics.publish({"a": float("nan")}, 60, 600)
    recorded.look()
    (alert,) = alerts_in(recorded.run.events_path.read_text().splitlines())
    assert (alert.text, alert.publish, alert.env_steps) == ("NaN or infinite: a", 40, 400)
    recorded.session.close("finished", 0)


def test_an_alert_is_told_though_its_recorder_was_killed_right_after_a_row(recorded):
    recorded.publish(1)
    recorded.look()
    recorded.publish(2)
    recorded.look(later_s=2.0)
    recorded.session.metrics.publish({"a": math.nan}, 3, 30)
    recorded.look(later_s=1.0)
    assert publishes(recorded.run)[-1] == 3
    recorded.restart_recorder()
    recorded.publish(4)
    recorded.look()
    (alert,) = alerts_in(recorded.run.events_path.read_text().splitlines())
    assert (alert.kind, alert.metric, alert.publish) == ("nan", "a", 3)


def test_messages_above_the_rings_room_are_counted_and_told_of(recorded):
    events = recorded.session.metrics.event
    events("info", "message 0")
    recorded.look()
    for number in range(1, 301):  # the ring holds 256: 44 are overwritten
        events("info", f"message {number}")
    recorded.look()
    texts = event_texts(recorded.run)
    assert texts[0] == "message 0"
    assert texts[1] == "44 messages before the next were overwritten before they were kept"
    assert texts[2:] == [f"message {number}" for number in range(45, 301)]
    recorded.restart_recorder()
    events("info", "last")
    recorded.look()
    assert event_texts(recorded.run)[2:] == [*texts[2:], "last"]
    assert num_lost(recorded.run.rows_path) == (0, 44)
    assert operant_json("status", recorded.run.id)["lost_messages"] == 44


@pytest.mark.parametrize("is_orderly", [True, False])
def test_the_copy_of_an_ended_run_has_no_rows_that_are_in_their_file(recorded, is_orderly):
    recorded.publish(*range(1, 2001))
    if is_orderly:
        recorded.session.close("finished", 0)
    else:
        recorded.die()
    recorded.look()
    copy = MetricsReader.attach(recorded.run.page_copy_path)
    assert copy.rows().records == []
    assert copy.num_new_row_bytes(0) == 2000 * 80  # as many as ever came
    assert copy.read().publish == 2000
    copy.detach()
    file = RowFileReader(recorded.run.rows_path)
    assert file.num_rows() == 2000
    file.close()


def test_the_copy_keeps_rows_that_found_no_way_into_their_file(recorded):
    recorded.publish(1, 2, 3)
    recorded.run.rows_path.write_bytes(b"no file of rows" * 100)
    recorded.die()
    recorded.look()
    copy = MetricsReader.attach(recorded.run.page_copy_path)
    assert len(copy.rows().records) == 3
    copy.detach()
