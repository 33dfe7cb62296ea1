"""A resumed run keeps its curves up to the checkpoint, and forgets what it will do again."""

from __future__ import annotations

import numpy as np
import pytest

from operant.shared import Metric, MetricsReader, MetricsWriter
from operant.shared.page.resumed_page import Beginning
from operant.shared.processes.lock import RunLock
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


def page_of(path, num_publishes) -> MetricsWriter:
    writer = MetricsWriter.create(path, "run", [Metric("a")], publish_interval_s=1)
    for number in range(1, num_publishes + 1):
        writer.publish({"a": number}, number, 10 * number)
    writer.event("info", "a checkpoint")
    return writer


def resumed(path, publish) -> tuple[MetricsWriter, MetricsReader]:
    beginning = Beginning.read(path, publish)
    assert beginning is not None
    writer = MetricsWriter.create(
        path, "run", [Metric("a"), Metric("new")], publish_interval_s=1, beginning=beginning
    )
    return writer, MetricsReader.attach(path)


def test_the_curve_goes_on_where_the_checkpoint_was(operant_pages):
    path = operant_pages / "run.page"
    page_of(path, 5000)
    writer, reader = resumed(path, 4480)  # where rows of 8 and of 64 end
    assert reader.read() is None  # nothing is published yet by the process that goes on

    for number in range(4481, 6001):
        writer.publish({"a": -number}, number, 10 * number)

    history = reader.history()
    assert history.env_steps[-1] == 60_000
    assert np.all(np.diff(history.publish) > 0)
    series = history.series("a")
    old = history.publish <= 4480
    assert np.all(series.high[old] == history.publish[old])
    assert np.all(series.high[~old] < 0)  # nothing of the 520 publishes that were done again
    assert np.all(np.diff(history.elapsed_s) >= 0)


def test_last_values_and_events_stay(operant_pages):
    path = operant_pages / "run.page"
    page_of(path, 100)
    writer, reader = resumed(path, 50)
    writer.publish({"new": 1.0})
    assert reader.read().metrics == {"a": 50.0, "new": 1.0}
    assert [event.text for event in reader.events()] == ["a checkpoint"]
    assert reader.outcome() is None


def test_a_page_that_cannot_be_read_is_no_beginning(tmp_path):
    path = tmp_path / "page"
    assert Beginning.read(path, 10) is None
    path.write_bytes(b"something else")
    assert Beginning.read(path, 10) is None


@pytest.mark.parametrize("num_publishes", [100, 5000])
def test_a_copy_made_before_the_checkpoint_is_gone_on_from_without_a_gap(
    operant_pages, tmp_path, num_publishes
):
    path, copy = operant_pages / "run.page", tmp_path / "page"
    page_of(path, num_publishes).save_copy(copy)
    path.unlink()
    beginning = Beginning.read(copy, num_publishes + 50)  # the checkpoint, when the machine went
    assert beginning.publish == num_publishes
    writer = MetricsWriter.create(path, "run", publish_interval_s=1, beginning=beginning)
    for number in range(1, 3000):
        writer.publish({"a": -number})
    history = MetricsReader.attach(path).history()
    assert history.num_publishes.sum() == num_publishes + 2999
    series = history.series("a")
    was = history.publish <= num_publishes
    assert np.array_equal(series.high[was], history.publish[was])
    assert np.all(series.high[~was & (history.publish >= num_publishes + 8)] < 0)


def test_of_a_copy_and_what_a_crash_left_the_one_that_holds_more_is_gone_on_from(operant_pages):
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"a": 1.0})
    session.metrics.save_copy(run.page_copy_path)
    session.metrics.publish({"a": 2.0})
    lock.release()  # as if killed
    lock = RunLock(run.lock_path)
    again = RunSession(run, lock, publish_interval_s=1, continue_from=2)
    assert again.metrics.num_publishes == 2
    again.close("finished", 0)


def test_rows_lost_from_a_page_are_never_written_in_the_one_that_goes_on(operant_pages):
    path = operant_pages / "run.page"
    page = page_of(path, 2000)
    level = page.header.layout["HISTORY0"]
    stale = level.offset + (1990 - 1) % level.num_records * level.record_bytes
    page._bytes[stale : stale + 8] = (1990 - level.num_records).to_bytes(8, "little")
    writer, reader = resumed(path, 1991)
    for number in range(1992, 2010):
        writer.publish({"a": number}, number)
    history = reader.history()
    folded = history.publish == 1992
    # 1985 to 1992 without the lost 1990
    assert history.series("a").mean[folded] == pytest.approx((1988.5 * 8 - 1990) / 7)
