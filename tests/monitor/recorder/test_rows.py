"""What nobody recorded is taken from the page's history, a row for each stretch of time."""

from __future__ import annotations

import numpy as np
import pytest

from operant.monitor.recorder.rows import NOTHING, Row, row_of, rows_between
from operant.shared import MetricsReader, MetricsWriter
from operant.shared.page.history import NEVER_WRITTEN, History
from operant.shared.page.layout import VALUES_OFFSET


def history_of(elapsed_s, **columns) -> History:
    """Rows at these times, publish numbers from 1."""
    heads = np.zeros((len(elapsed_s), VALUES_OFFSET // 8), np.int64)
    numbers = np.arange(1, len(elapsed_s) + 1)
    times_ns = (np.array(elapsed_s) * 1e9).astype(np.int64)
    heads[:, 2:7] = np.stack([numbers, 10**18 + times_ns, times_ns, numbers, 10 * numbers], axis=1)
    return History(list(columns), heads, [np.stack(list(columns.values()), axis=1)])


def at(publish: int, elapsed_s: float) -> Row:
    return Row(publish, 1e9 + elapsed_s, elapsed_s, publish, 10 * publish)


def test_rows_are_as_far_apart_as_asked_and_end_before_the_newest():
    history = history_of(np.arange(1, 101) * 0.25, a=np.arange(100.0))
    rows = rows_between(history, at(10, 2.5), at(100, 25.0), every_s=3.0)
    times = [2.5, *(row.elapsed_s for row in rows), 25.0]
    # counted back from 25.0: 22, 19, ... and none within 3 s of 2.5
    assert times == [2.5, 7.0, 10.0, 13.0, 16.0, 19.0, 22.0, 25.0]
    assert [row.publish for row in rows] == [28, 40, 52, 64, 76, 88]
    assert rows[0] == Row(28, 1e9 + 7.0, 7.0, 28, 280, {"a": 27.0})


def test_without_a_file_all_of_the_history_counts():
    history = history_of(np.arange(1, 101) * 1.0, a=np.arange(100.0))
    rows = rows_between(history, NOTHING, at(100, 100.0), every_s=1.0)
    assert [row.publish for row in rows] == list(range(1, 100))


def test_values_that_a_publish_did_not_write_are_the_last_ones_written():
    never = NEVER_WRITTEN
    values = np.array([never, 1.0, never, np.nan, never, 2.0])
    history = history_of(np.arange(1.0, 7.0), a=values, b=np.arange(6.0))
    rows = rows_between(history, NOTHING, at(7, 7.0), every_s=1.0)
    found = np.array([row.metrics["a"] for row in rows])
    np.testing.assert_array_equal(found, [np.nan, 1.0, 1.0, np.nan, np.nan, 2.0])
    assert ["a" in row.written for row in rows] == [False, True, True, True, True, True]


def test_a_gap_with_no_publishes_gives_no_rows():
    history = history_of([1.0, 2.0, 60.0], a=np.zeros(3))
    assert rows_between(history, at(2, 2.0), at(3, 60.0), every_s=3.0) == []
    assert rows_between(History(), NOTHING, at(1, 1.0), every_s=3.0) == []


@pytest.mark.parametrize("num_publishes", [1, 9, 5000])
def test_a_row_of_the_newest_publish_equals_that_of_the_history(operant_pages, num_publishes):
    writer = MetricsWriter.create(operant_pages / "run.0.page", "run", publish_interval_s=1)
    for number in range(1, num_publishes + 1):
        writer.publish({"a": number} if number % 3 else {"b": number}, number, 10 * number)
    reader = MetricsReader.attach(operant_pages / "run.0.page")
    newest = row_of(reader.read())
    after_it = Row(10**9, 1e12, newest.elapsed_s + 1e9, 0, 0)
    (same,) = rows_between(reader.history(), NOTHING, after_it, every_s=1e9)
    assert repr(same) == repr(newest)
    writer.remove()
