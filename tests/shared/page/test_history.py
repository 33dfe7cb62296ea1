"""The rings hold the whole run: every publish in exactly one row, folded as the layout says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operant.shared import Metric, MetricsReader, MetricsWriter


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("pages") / "run.page"


def written(path, values) -> MetricsReader:
    """A reader of a page to which `values` were published one by one, None as nothing."""
    writer = MetricsWriter.create(path, "run", [Metric("a")], publish_interval_s=1, max_metrics=2)
    for number, value in enumerate(values, 1):
        writer.publish({} if value is None else {"a": value}, number, 10 * number)
    return MetricsReader.attach(path)


def spans(history) -> list[tuple[int, int]]:
    """First and last publish of every row."""
    lasts = history.publish.tolist()
    return list(zip([0, *lasts], lasts, strict=False))


@settings(max_examples=25, deadline=None)
@given(
    num_publishes=st.integers(1, 12_000),
    seed=st.integers(0, 2**32 - 1),
    written_fraction=st.sampled_from([0.02, 0.5, 1.0]),
)
def test_every_publish_is_in_one_row_with_its_lowest_mean_and_highest(
    path, num_publishes, seed, written_fraction
):
    random = np.random.default_rng(seed)
    values = random.normal(size=num_publishes)
    values[random.random(num_publishes) > written_fraction] = np.nan
    reader = written(path, [None if math.isnan(value) else value for value in values])

    history = reader.history()
    series = history.series("a")
    assert history.publish[-1] == num_publishes
    assert np.all(np.diff(history.publish) > 0)
    assert history.env_steps.tolist() == [10 * last for last in history.publish]
    for row, (before, last) in enumerate(spans(history)):
        block = values[before:last]
        block = block[~np.isnan(block)]
        found = (series.low[row], series.mean[row], series.high[row])
        if not len(block):
            assert all(math.isnan(value) for value in found)
            continue
        assert found[0] == block.min()
        assert found[2] == block.max()
        assert found[0] <= found[1] <= found[2] or math.isclose(found[0], found[1])
        if written_fraction == 1.0:
            assert found[1] == pytest.approx(block.mean())


@pytest.mark.parametrize("num_publishes", [1, 7, 8, 9, 1023, 1024, 1025, 8 * 1024, 8 * 1024 + 65])
def test_the_newest_publishes_are_rows_of_their_own(path, num_publishes):
    history = written(path, range(1, num_publishes + 1)).history()
    newest = min(num_publishes, 1024 - 8)
    assert history.series("a").mean[-newest:].tolist() == [
        float(number) for number in range(num_publishes - newest + 1, num_publishes + 1)
    ]


def test_reading_again_gives_what_reading_at_once_gives(path):
    writer = MetricsWriter.create(path, "run", [Metric("a")], publish_interval_s=1, max_metrics=2)
    patient = MetricsReader.attach(path)
    for number in range(1, 20_001):
        writer.publish({"a": float(number)})
        if number % 777 == 0 or number in (9, 4_000, 19_000):
            patient.history()
    again, at_once = patient.history(), MetricsReader.attach(path).history()
    assert again.publish.tolist() == at_once.publish.tolist()
    assert again.series("a").low.tolist() == at_once.series("a").low.tolist()


def test_infinities_do_not_hide_what_is_finite(path):
    values = [1.0, math.inf, 3.0, -math.inf, *[2.0] * 20_000]
    history = written(path, values).history()
    series = history.series("a")
    assert series.low[0] == -math.inf
    assert series.high[0] == math.inf
    assert series.mean[-1] == 2.0


def test_a_row_being_overwritten_is_left_out(path):
    reader = written(path, range(2000))
    level_0 = reader.header.layout["HISTORY0"]
    with path.open("r+b") as file:
        file.seek(level_0.offset + 1999 % 1024 * level_0.record_bytes + 64)
        file.write(b"torn")
    history = reader.history()
    assert 2000 not in history.publish
    assert 2000.0 not in history.series("a").high


def test_a_reader_that_the_writer_laps_still_finds_every_publish_once(path):
    writer = MetricsWriter.create(path, "run", [Metric("a")], publish_interval_s=1, max_metrics=2)
    reader = MetricsReader.attach(path)

    def publish(number_of: int) -> None:
        for _ in range(number_of):
            number = writer.num_publishes + 1
            writer.publish({"a": number}, number, 10 * number)

    publish(500)
    assert len(reader.history()) == 500
    publish(900)
    ring = reader._history._rings[0]
    read_now = ring._pread

    def read_late(size_bytes: int, offset: int) -> bytes:
        """Between asking and reading, the writer overwrites half of what was asked for."""
        ring._pread = read_now
        publish(600)
        return read_now(size_bytes, offset)

    ring._pread = read_late
    history = reader.history()
    series = history.series("a")
    firsts = [first + 1 for first, _ in spans(history)]
    assert series.low.tolist() == firsts
    assert series.high.tolist() == history.publish.tolist()
    writer.remove()


def test_rows_that_were_being_written_are_read_once_more(path):
    reader = written(path, range(2000))
    assert reader.history().publish[-1] == 2000
    reader = MetricsReader.attach(path)
    reader._history._look_at_row_room()
    ring = reader._history._rings[1]
    read_now, section = ring._pread, ring._section

    def read_torn(size_bytes: int, offset: int) -> bytes:
        """Once, the level's rows after number 100, of publish 800, are not there yet."""
        ring._pread = read_now
        data = read_now(size_bytes, offset)
        return data[: 100 * section.record_bytes].ljust(len(data), b"\0")

    ring._pread = read_torn
    history = reader.history()
    assert ring._pread is read_now
    firsts = [first for first, _ in spans(history)]  # the value of a publish is its number less 1
    assert history.series("a").low.tolist() == firsts
    assert reader.history().publish.tolist() == history.publish.tolist()


def test_what_was_written_as_nan_is_told_from_what_was_not_written(path):
    values = [1.0, None, math.nan, math.inf, None, 2.0, 3.0, 4.0]
    history = written(path, values).history()
    assert history.gaps(history.series("a")).tolist() == [
        value is not None and not math.isfinite(value) for value in values
    ]


def test_folded_rows_keep_gaps_where_nothing_else_was_written(path):
    # Rows of 64 publishes after 9000: the first all NaN, the second nothing, the third a mixture.
    values = [math.nan] * 64 + [None] * 64 + [math.nan, 1.0, None, 1.0] * 16 + [2.0] * 8808
    history = written(path, values).history()
    starts = [before for before, _ in spans(history)]
    gaps = dict(zip(starts, history.gaps(history.series("a")).tolist(), strict=True))
    assert (gaps[0], gaps[64], gaps[128]) == (True, False, False)
    assert sum(gaps.values()) == sum(start < 64 for start in starts)


def test_a_metric_that_came_late_has_no_gap_before_it(path):
    writer = MetricsWriter.create(path, "run", [Metric("a")], publish_interval_s=1, max_metrics=2)
    for number in range(1, 2000):
        writer.publish({"a": 1.0} if number < 1990 else {"a": 1.0, "late": 2.0})
    history = MetricsReader.attach(path).history()
    assert not history.gaps(history.series("late")).any()
    assert not history.gaps(history.series("never heard of")).any()


def test_a_whole_row_under_the_number_of_another_is_left_out(path):
    reader = written(path, range(30))
    level_0 = reader.header.layout["HISTORY0"]
    with path.open("r+b") as file:
        file.seek(level_0.offset + 18 * level_0.record_bytes)
        row_19 = file.read(level_0.record_bytes)
        file.write((20).to_bytes(8, "little") + row_19[8:])
    publishes = reader.history().publish.tolist()
    assert publishes == sorted(set(publishes))
