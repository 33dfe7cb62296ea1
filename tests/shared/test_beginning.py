"""A resumed run keeps its curves up to the checkpoint, and forgets what it will do again."""

from __future__ import annotations

import numpy as np

from operant.shared import Metric, MetricsReader, MetricsWriter
from operant.shared.beginning import Beginning


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
    path = operant_pages / "run.0.page"
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
    path = operant_pages / "run.0.page"
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
