"""metrics.csv holds whole rows in one line of time, whatever happens to its writer."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import pytest
from mounts import fill, tmpfs
from recorded import csv_rows

from operant.monitor.recorder.metrics_file import HEAD, MetricsFile
from operant.monitor.recorder.rows import NOTHING, Row
from operant.shared.page.history import NEVER_WRITTEN


def row(publish: int, wall_s: float | None = None, **metrics: float) -> Row:
    wall_s = 1000.0 + publish if wall_s is None else wall_s
    return Row(publish, wall_s, float(publish), publish, 10 * publish, metrics)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "metrics.csv"


def numbers(path) -> list[int]:
    return [int(row["publish"]) for row in csv_rows(path)]


def test_a_row_has_its_publish_its_times_its_counts_and_all_values(path):
    file = MetricsFile(path)
    file.append([Row(3, 1795242961.25, 2.5, -1, 400, {"loss/a": 0.1, "b": float("inf")})])
    file.append([Row(4, 1795242962.25, 3.5, 9, -1, {"loss/a": math.nan, "b": NEVER_WRITTEN})])
    header, first, second = path.read_text().splitlines()
    assert header == "publish,wall_s,elapsed_s,iteration,env_steps,loss/a,b"
    assert first == "3,1795242961.250000,2.500000,,400,0.1,inf"
    assert second == "4,1795242962.250000,3.500000,9,,nan,"  # what was written as NaN, and not


def test_a_metric_that_comes_later_gets_a_column_that_is_empty_before(path):
    file = MetricsFile(path)
    file.append([row(1, a=1.0)])
    file.append([row(2, b=2.0, a=3.0)])
    file.append([row(3, b=4.0)])
    first, second, third = csv_rows(path)
    assert math.isnan(first["b"])
    assert (second["a"], second["b"]) == (3.0, 2.0)
    assert math.isnan(third["a"])
    assert path.read_text().startswith(",".join([*HEAD, "a", "b\n"]))


def test_names_may_hold_what_they_like(path):
    names = ['a,"b"', "line\nbreak", "publish", "=1+1"]
    MetricsFile(path).append([replace(row(1), metrics=dict.fromkeys(names, 5.0))])
    (found,) = csv_rows(path)
    assert found == {
        "publish": 1, "wall_s": 1001, "elapsed_s": 1, "iteration": 1, "env_steps": 10,
        'a,"b"': 5, "line break": 5, "metrics/publish": 5, "=1+1": 5,
    }  # fmt: skip
    again = MetricsFile(path)
    again.append([replace(row(2), metrics=dict.fromkeys(names, 6.0))])
    assert len(csv_rows(path)[1]) == 9


def test_a_new_writer_goes_on_after_the_last_row(path):
    MetricsFile(path).append([row(1, a=1.0), row(2, a=2.0)])
    file = MetricsFile(path)
    assert (file.last.publish, file.last.wall_s, file.last.elapsed_s) == (2, 1002.0, 2.0)
    file.append([row(3, a=3.0)])
    assert numbers(path) == [1, 2, 3]


@pytest.mark.parametrize("cut", range(1, 30))
def test_half_a_row_at_the_end_is_cut_off(path, cut):
    MetricsFile(path).append([row(1, a=1.0), row(2, a=0.123456789)])
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    file = MetricsFile(path)
    assert file.last.publish == 1
    file.append([row(3, a=3.0)])
    assert numbers(path) == [1, 3]


def test_a_line_that_is_no_row_costs_none_of_those_before_it(path):
    first = MetricsFile(path)
    first.append([row(1, a=1.0), row(2, a=2.0)])
    first.close()
    with path.open("a") as file:
        file.write("\n")  # as an editor may leave it
    second = MetricsFile(path)
    assert second.last.publish == 2
    second.append([row(3, a=3.0, b=4.0)])
    heads = [line.split(",")[0] for line in path.read_text().splitlines()]
    assert heads == ["publish", "1", "2", "", "3"]


def test_a_file_cut_within_its_header_is_begun_anew(path):
    MetricsFile(path).append([row(1, a=1.0)])
    path.write_bytes(path.read_bytes()[:20])
    file = MetricsFile(path)
    assert file.last == NOTHING
    file.append([row(2, a=1.0)])
    assert numbers(path) == [2]
    assert path.with_suffix(".old.csv").exists()


def test_what_a_resumed_run_does_again_is_dropped(path):
    file = MetricsFile(path)
    file.append([row(number, a=1.0) for number in range(1, 10)])
    file.truncate_after(5, since_wall_s=2000.0)
    assert file.last.publish == 5
    file.append([row(6, wall_s=2001.0, a=2.0)])
    assert numbers(path) == [1, 2, 3, 4, 5, 6]


def test_rows_of_the_process_that_goes_on_are_not_dropped(path):
    file = MetricsFile(path)
    file.append([row(4, a=1.0), row(6, wall_s=2001.0, a=2.0), row(7, wall_s=2002.0, a=2.0)])
    again = MetricsFile(path)
    again.truncate_after(5, since_wall_s=2000.0)
    assert numbers(path) == [4, 6, 7]


def test_on_a_full_disk_a_row_is_there_whole_or_not_at_all(tmp_path):
    with tmpfs(tmp_path / "disk", "64k") as disk:
        path = disk / "metrics.csv"
        file = MetricsFile(path)
        file.append([row(1, a=1.0)])
        fill(disk)
        rows = [row(number, a=0.1) for number in range(2, 1000)]
        with pytest.raises(OSError, match="No space"):
            file.append(rows)
        with pytest.raises(OSError, match="No space"):
            file.append([row(2, a=1.0, b=2.0)])  # needs a column
        assert numbers(path) == [1]
        (disk / "filler").unlink()
        file.append([row(2, a=1.0, b=2.0)])
        assert numbers(path) == [1, 2]
        assert [entry.name for entry in disk.iterdir()] == ["metrics.csv"]
        file.close()


def test_what_was_appended_is_on_the_disk_after_a_sync(path, monkeypatch):
    file = MetricsFile(path)
    file.append([row(1, a=1.0)])
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    file.sync()
    assert synced == [path.stat().st_ino]
