"""The curves of a mirror are those of the run, and only the newest rows of each level travel."""

from __future__ import annotations

import contextlib
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operant.monitor.remote import mirrored_rows, sent_rows
from operant.monitor.remote.changed_files import PageFile
from operant.monitor.remote.frames import Frame, StreamError
from operant.monitor.remote.mirror import Mirror
from operant.monitor.remote.sent_rows import SentRows
from operant.shared import MetricsReader
from operant.shared.errors import OperantError
from operant.shared.page.row_ring import publish_of
from operant.shared.rows.curves import Curves
from operant.shared.rows.row_batch import HEADS, RowBatch, batch_of
from operant.shared.rows.row_blob import encoded
from operant.shared.rows.row_file import RowFile


class Home:
    """A run, and a recorder that takes its rows when it is asked to."""

    def __init__(self, session) -> None:
        self.session, self.run = session, session.run
        self.reader = MetricsReader.attach(session.metrics.path)
        self.number = self.taken = 0

    def publish(self, count: int, **more: float) -> None:
        for _ in range(count):
            self.number += 1
            values = {"loss": 1 / self.number, "odd": float(self.number % 7), **more}
            self.session.metrics.publish(values, self.number, 10 * self.number)

    def record(self) -> None:
        records = [r for r in self.reader.rows().records if publish_of(r) > self.taken]
        with closing(RowFile(self.run.rows_path)) as file:
            file.note("page", str(self.reader.header.identity))
            if records:
                file.append([batch_of(records)], self.reader.schema())
                self.taken = publish_of(records[-1])

    def history(self):
        with closing(Curves(self.run.rows_path, self.reader)) as curves:
            return curves.history()


class Away:
    """The mirror of that run."""

    def __init__(self, home: Home) -> None:
        self.home, self.mirror = home, Mirror("box")
        self.page, self.connected = PageFile(), SentRows(home.run.rows_path)

    def connect_anew(self) -> None:
        self.page, self.connected = PageFile(), SentRows(self.home.run.rows_path)

    def look(self) -> list[str]:
        """Take what is sent; returns which parts of the file of rows that was."""
        reader = self.home.reader
        found = []
        for part in (self.page.pieces(reader), self.connected.pieces(reader)):
            for head, data in part:
                self.mirror.take(Frame({"run": "x", **head}, data))
                found.append(head.get("part"))
        return [part for part in found if part]

    def history(self):
        run = self.mirror.run("x")
        page = MetricsReader.attach(run.page_copy_path)
        with closing(Curves(run.rows_path, page)) as curves:
            history = curves.history()
        page.detach()
        return history


@pytest.fixture
def home(make_session):
    return Home(make_session())


def assert_same(here, there) -> None:
    assert there.names == here.names
    np.testing.assert_array_equal(there.heads, here.heads)
    for name in here.names:
        np.testing.assert_array_equal(there.series(name), here.series(name))


def test_curves_of_a_mirror_are_those_of_the_run(home):
    home.publish(3000)
    home.record()
    away = Away(home)
    away.look()
    assert_same(home.history(), away.history())
    for _ in range(5):
        home.publish(400)
        away.look()
        home.record()
    assert_same(home.history(), away.history())
    home.publish(100, late=1.0)  # of a metric that comes late
    away.look()
    home.record()
    assert_same(home.history(), away.history())


def test_of_a_long_run_the_newest_rows_of_each_level_are_sent(home, monkeypatch):
    for module in (sent_rows, mirrored_rows):
        monkeypatch.setattr(module, "most_rows", lambda _: 300)
    home.publish(9000)
    home.record()
    away = Away(home)
    away.look()
    with closing(Curves(home.run.rows_path, home.reader, max_rows=256)) as curves:
        here = curves.history()
    run = away.mirror.run("x")
    page = MetricsReader.attach(run.page_copy_path)
    with closing(Curves(run.rows_path, page, max_rows=256)) as curves:
        assert_same(here, curves.history())
    page.detach()
    assert run.rows_path.stat().st_size < home.run.rows_path.stat().st_size / 2


def test_a_run_without_a_recorder_has_the_curves_of_its_ring(home):
    home.publish(50)
    away = Away(home)
    away.look()
    assert not home.run.rows_path.exists()
    assert len(away.history()) == 50


def test_after_a_new_connection_no_row_is_there_twice(home):
    home.publish(2000)
    home.record()
    away = Away(home)
    away.look()
    home.publish(10)
    away.look()
    away.connect_anew()
    home.publish(10)
    assert "begin" in away.look()
    home.record()
    assert_same(home.history(), away.history())


def test_rows_of_an_old_level_are_dropped_again(home, monkeypatch):
    monkeypatch.setattr(mirrored_rows, "most_rows", lambda _: 100)
    monkeypatch.setattr(mirrored_rows, "_TRIM_EVERY", 10)
    home.publish(100)
    away = Away(home)
    for _ in range(100):
        home.publish(40)
        away.look()
    with closing(RowFile(away.mirror.run("x").rows_path)) as file:
        assert file.num_rows == home.number
        with pytest.raises(ValueError, match="missing"):
            list(mirrored_rows.row_tables.read_rows(file._db, 0, 1, 10))


parts = st.sampled_from(["begin", "blob", "schema", "rows", "", "else"])
data = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b'{"metrics": []}', b'{"metrics": [{"name": "a"}], "page": "1"}', b"[]"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(parts, st.integers(-9, 1 << 66), st.integers(-9, 1 << 66), data)))
def test_pieces_that_are_none_are_refused(pieces):
    mirror = Mirror("box")
    for part, level, at, body in pieces:
        head = {"run": "x", "file": "rows.sqlite", "part": part, "level": level, "at": at}
        with contextlib.suppress(OperantError):
            mirror.take(Frame(head, body))
    mirror.close()


def test_a_blob_without_a_beginning_is_refused():
    mirror = Mirror("box")
    with pytest.raises(StreamError):
        mirror.take(Frame({"run": "x", "file": "rows.sqlite", "part": "blob", "at": 1}, b"x"))
    mirror.close()


def test_rows_of_metrics_that_were_not_named_are_refused():
    described = b'{"metrics": [], "page": "1", "last_publish": 0, "num_lost": 0}'
    mirror = Mirror("box")
    row = encoded(RowBatch(np.ones((HEADS, 1), np.int64), np.array([5]), np.ones((1, 1))))
    for part in ("begin", "schema"):
        mirror.take(Frame({"run": "x", "file": "rows.sqlite", "part": part}, described))
    with pytest.raises(StreamError):
        mirror.take(Frame({"run": "x", "file": "rows.sqlite", "part": "rows"}, row))
    mirror.close()
