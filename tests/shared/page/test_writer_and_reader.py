"""A reader gets exactly the values of one publish, complete and unmixed."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from operant.shared import Metric, MetricsReader, MetricsWriter, Outcome, PageError
from operant.shared.page.layout import OUTCOME, OUTCOME_BYTES
from operant.shared.rows.curves import Curves


@pytest.fixture
def path(operant_pages: Path) -> Path:
    return operant_pages / "run.page"


def make_writer(path: Path, *names: str, max_metrics: int = 64) -> MetricsWriter:
    metrics = [Metric(name) for name in names]
    return MetricsWriter.create(
        path, "run", metrics, publish_interval_s=0.25, max_metrics=max_metrics
    )


def test_a_snapshot_holds_all_values_of_the_newest_publish(path):
    writer = make_writer(path, "loss/policy", "loss/value")
    reader = MetricsReader.attach(path)
    assert reader.read() is None

    writer.publish({"loss/policy": 1.0, "loss/value": 2.0}, iteration=1, env_steps=100)
    writer.publish({"loss/policy": 3.0, "loss/value": 4.0}, iteration=2, env_steps=200)

    snapshot = reader.read()
    assert snapshot is not None
    assert snapshot.metrics == {"loss/policy": 3.0, "loss/value": 4.0}
    assert (snapshot.publish, snapshot.iteration, snapshot.env_steps) == (2, 2, 200)


def test_who_comes_while_a_snapshot_is_written_gets_the_one_before(path):
    writer, found = make_writer(path, "a"), []
    mapping = writer._mapping

    class Halfway:
        def __setitem__(self, part, data):
            mapping[part.start : part.start + len(data) // 2] = data[: len(data) // 2]
            found.append(MetricsReader.attach(path).read())
            mapping[part] = data

    writer.publish({"a": 1.0})
    writer._mapping = Halfway()
    for number in (2, 3, 4):
        writer.publish({"a": number})
    assert [snapshot and snapshot.publish for snapshot in found] == [1, 2, 3]


def test_a_metric_is_nan_until_it_is_written_and_then_keeps_its_value(path):
    writer = make_writer(path, "a", "b")
    reader = MetricsReader.attach(path)

    writer.publish({"a": 1.0})
    assert math.isnan(reader.read().metrics["b"])
    writer.publish({"b": 2.0})
    assert reader.read().metrics == {"a": 1.0, "b": 2.0}


def test_new_names_take_the_room_that_is_left_and_the_rest_are_counted(path):
    writer = make_writer(path, "a", max_metrics=2)
    reader = MetricsReader.attach(path)

    writer.publish({"a": 1.0, "b": 2.0, "c": 3.0})
    writer.publish({"a": 4.0, "b": 5.0, "c": 6.0})

    assert reader.read().metrics == {"a": 4.0, "b": 5.0}
    assert reader.num_rejected_metrics() == 1


def test_a_metric_that_comes_late_is_nan_before(path):
    writer = make_writer(path, "a")
    for number in range(1, 21):
        writer.publish({"a": number})
    reader = MetricsReader.attach(path)
    Curves(None, reader).history()
    writer.publish({"a": 21.0, "late": 1.0})

    late = Curves(None, reader).history().series("late").mean
    assert late[-1] == 1.0
    assert all(math.isnan(value) for value in late[:-1])


def test_what_is_no_number_is_passed_over(path):
    writer = make_writer(path, "a")
    writer.publish({"a": "many", "b": 2.0, "c": None})
    snapshot = MetricsReader.attach(path).read()
    assert snapshot.metrics["b"] == 2.0
    assert "c" not in snapshot.metrics


def test_infinity_and_nan_arrive_as_they_are(path):
    writer = make_writer(path, "a", "b")
    writer.publish({"a": math.inf, "b": math.nan})
    metrics = MetricsReader.attach(path).read().metrics
    assert metrics["a"] == math.inf
    assert math.isnan(metrics["b"])


def test_a_name_comes_back_with_unit_kind_and_description(path):
    metric = Metric("time/collect_s", "s", "timer", "down", 1, "what it took: µs matter")
    MetricsWriter.create(path, "run", [metric], publish_interval_s=1)
    assert MetricsReader.attach(path).schema() == [metric]


def test_events_come_in_order_and_the_newest_are_kept(path):
    writer = make_writer(path)
    reader = MetricsReader.attach(path)
    for number in range(1, 301):
        writer.event("info", f"message {number}", env_steps=number)

    events = reader.events()
    assert [event.number for event in events] == list(range(45, 301))
    assert (events[-1].text, events[-1].env_steps) == ("message 300", 300)
    assert [event.number for event in reader.events(after=298)] == [299, 300]


def test_a_long_text_is_cut_between_characters(path):
    writer = make_writer(path)
    writer.event("error", "ß" * 2000)
    (event,) = MetricsReader.attach(path).events()
    assert event.text == "ß" * (len(event.text))
    assert 400 < len(event.text) < 2000


def test_an_outcome_whose_exit_code_is_not_known_comes_back():
    said = Outcome("ended", 0, "its exit code is not known", 7, is_provisional=True)
    assert Outcome.decode(said.encode()) == said


def test_the_longest_message_leaves_the_flags_alone():
    outcome = Outcome("failed", 1, 2000 * "x", 7)
    decoded = Outcome.decode(outcome.encode())
    assert (decoded.state, decoded.is_provisional) == ("failed", False)
    assert decoded.message == (OUTCOME_BYTES - OUTCOME.size - 4) * "x"


def test_the_outcome_is_none_until_the_run_says_how_it_ended(path):
    writer = make_writer(path)
    reader = MetricsReader.attach(path)
    assert reader.outcome() is None
    writer.finish("stopped", 130, "by SIGINT")
    outcome = reader.outcome()
    assert (outcome.state, outcome.exit_code, outcome.message) == ("stopped", 130, "by SIGINT")


def test_a_copy_on_disk_reads_like_the_page(path, tmp_path):
    writer = make_writer(path, "a")
    for number in range(1, 2001):
        writer.publish({"a": number})
    copy = tmp_path / "page"
    writer.save_copy(copy)
    writer.remove()
    assert not path.exists()

    reader = MetricsReader.attach(copy)
    assert reader.read().metrics == {"a": 2000.0}
    assert Curves(None, reader).history().series("a").high[-1] == 2000.0
    assert copy.stat().st_mode & 0o777 == 0o600


def test_zeros_of_a_copy_take_no_room_on_disk(path, tmp_path):
    writer = make_writer(path, "a")
    writer.publish({"a": 1.0})
    copy = tmp_path / "page"
    writer.save_copy(copy)
    status = copy.stat()
    assert status.st_blocks * 512 < status.st_size / 10


def test_a_reader_that_has_the_page_open_outlives_its_file(path):
    writer = make_writer(path, "a")
    writer.publish({"a": 1.0})
    reader = MetricsReader.attach(path)
    path.unlink()
    writer.publish({"a": 2.0})
    assert reader.read().metrics == {"a": 2.0}


def test_a_forked_child_leaves_its_parents_page_alone(path):
    writer = make_writer(path, "a")
    writer.publish({"a": 1.0})
    child = os.fork()
    if child == 0:
        writer.publish({"a": 666.0})
        writer.event("error", "from the child")
        writer.finish("failed", 1)
        writer.remove()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

    reader = MetricsReader.attach(path)
    assert reader.read().metrics == {"a": 1.0}
    assert reader.events() == []
    assert reader.outcome() is None
    writer.publish({"a": 2.0})
    assert reader.read().metrics == {"a": 2.0}


def test_the_page_is_for_its_user_alone(path):
    make_writer(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_way_is_not_followed(path, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path.parent.mkdir(exist_ok=True)
    path.with_name(f".{path.name}.building").symlink_to(victim)
    path.symlink_to(victim)
    make_writer(path, "a").publish({"a": 1.0})
    assert victim.read_text() == "precious"
    assert MetricsReader.attach(path).read().metrics == {"a": 1.0}


def test_a_folder_of_another_kind_is_refused(operant_pages):
    operant_pages.joinpath("file").write_text("")
    with pytest.raises(PageError, match="file"):
        make_writer(operant_pages / "file" / "run.page")


class LateSchema:
    """Preads of a page as a processor may see them that learns of new schema records late: as they
    were `before`, the first `times` that they are asked for, or the count alone is new.
    """

    def __init__(self, reader: MetricsReader, before: bytes, times: int, knows_count: bool) -> None:
        self.reader, self.pread = reader, reader._pread
        self.before, self.times, self.knows_count = before, times, knows_count

    def __call__(self, size_bytes: int, offset: int, whole: bool = True) -> bytes:
        schema = self.reader.header.layout["SCHEMA"]
        begin = offset - schema.offset
        is_count = begin == 0
        if not 0 <= begin < schema.size_bytes or (is_count and self.knows_count):
            return self.pread(size_bytes, offset, whole)
        if self.times <= 0:
            return self.pread(size_bytes, offset, whole)
        self.times -= 1
        return self.before[begin : begin + size_bytes]


@pytest.mark.parametrize("knows_count", [True, False])
def test_a_schema_record_is_visible_before_a_snapshot_uses_it(path, knows_count):
    writer = make_writer(path, "a")
    writer.publish({"a": 1.0})
    reader = MetricsReader.attach(path)
    assert reader.read().metrics == {"a": 1.0}
    schema = reader.header.layout["SCHEMA"]
    before = os.pread(reader.fd, schema.size_bytes, schema.offset)

    writer.publish({"a": 2.0, "new": 3.0})
    # Never seen at all: the snapshot that is known stays, and no value goes by a wrong name.
    late = reader._pread = LateSchema(reader, before, 10**9, knows_count)
    assert reader.read().metrics == {"a": 1.0}
    # Seen at the third look: the same read gets there.
    late.times = 2
    assert reader.read().metrics == {"a": 2.0, "new": 3.0}


def test_a_copy_is_on_the_disk_before_it_has_its_name(path, tmp_path, monkeypatch):
    writer, copy, seen = make_writer(path, "a"), tmp_path / "page", []
    monkeypatch.setattr(os, "fsync", lambda fd: seen.append((os.fstat(fd), copy.exists())))
    writer.save_copy(copy)
    ((status, had_its_name),) = seen
    assert (status.st_ino, status.st_size) == (copy.stat().st_ino, copy.stat().st_size)
    assert not had_its_name
