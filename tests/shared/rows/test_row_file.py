"""The file of rows holds every row once, in order, whatever happens to its writer."""

from __future__ import annotations

import contextlib
import re
import resource
import sqlite3
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operant.shared.errors import RowFileError
from operant.shared.page.layout import NEVER
from operant.shared.page.schema import Metric
from operant.shared.rows.levels import NUM_LEVELS, folded_up
from operant.shared.rows.row_batch import NO_ROWS, RowBatch, joined
from operant.shared.rows.row_blob import BLOB, MAX_BLOB_BYTES, decoded, encoded
from operant.shared.rows.row_file import RowFile
from operant.shared.rows.row_file_reader import RowFileReader

UNWRITTEN = np.frombuffer(NEVER, np.float64)[0]
TOOLS = Path(__file__).parents[3] / "tools"
A, B = Metric("a"), Metric("b", "s", step_metric="a")


def rows(first: int, last: int, *, place: int = 0) -> RowBatch:
    """Publishes `first` to `last`; each wrote its own number as metric `place`."""
    publish = np.arange(first, last + 1)
    heads = np.stack(
        [publish, publish * 10**9, publish * 10, publish, 7 - publish, publish * 0 + 1]
    )
    return RowBatch(heads, np.array([place]), publish[None, :].astype(np.float64))


def held(path) -> RowBatch:
    reader = RowFileReader(path)
    try:
        return joined(list(reader.batches()))
    finally:
        reader.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.sqlite"


def journal_of_several_databases(path: Path, victim: Path) -> bytes:
    """A rollback journal with nothing to roll back, after which SQLite deletes `victim`: the layout
    is at https://www.sqlite.org/fileformat.html#the_rollback_journal.
    """
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(victim).encode()
    pages = path.stat().st_size // 4096
    header = (magic + struct.pack(">IIIII", 0, 7, pages, 512, 4096)).ljust(512, b"\0")
    lock_page = 0x40000000 // 4096 + 1
    numbers = struct.pack(">Ii", len(name), sum(name))
    return header + struct.pack(">I", lock_page) + name + numbers + magic


def copied_with_journal(path: Path, victim: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE one (a)")
    Path(f"{path}-journal").write_bytes(journal_of_several_databases(path, victim))


def test_rows_that_wrote_nothing_are_rows(path):
    file = RowFile(path)
    whole = rows(1, 80)
    empty = RowBatch(whole.heads[:, :70], np.zeros(0, np.int64), np.zeros((0, 70)))
    file.append([empty, whole.part(slice(70, 80))], [A])
    file.close()
    batch = held(path)
    assert batch.publish.tolist() == list(range(1, 81))
    assert batch.values[0, 70:].tolist() == list(range(71, 81))


def test_a_journal_that_has_sqlite_delete_another_file_is_refused(path, tmp_path):
    victim = tmp_path / "thesis.txt"
    victim.write_text("all of it")
    copied_with_journal(path, victim)
    with pytest.raises(RowFileError, match="belongs to several databases"):
        RowFile(path)
    assert victim.read_text() == "all of it"
    with contextlib.closing(sqlite3.connect(path)) as db:  # what it is refused for
        db.execute("SELECT * FROM one")
    assert not victim.exists()


def test_a_linked_journal_is_refused(path, tmp_path):
    RowFile(path).close()
    Path(f"{path}-journal").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RowFileError):
        RowFile(path)


def test_what_is_appended_is_read_once_and_in_order_by_whoever_goes_on(path):
    first, expected = RowFile(path), 0
    for size in (1, 3, 700, 2500, 1, 40):
        first.append([rows(expected + 1, expected + size)], [A])
        expected += size
    again = RowFile(path)  # as after kill -9: the other one was never closed
    assert (again.num_rows, again.last_publish) == (3245, 3245)
    again.append([rows(3246, 3300)], [A])
    batch = held(path)
    assert batch.publish.tolist() == list(range(1, 3301))
    assert batch.values[0].tolist() == list(range(1, 3301))
    assert batch.env_steps.tolist() == [7 - n for n in range(1, 3301)]
    assert RowFileReader(path).num_rows() == 3300


def test_a_reader_takes_what_is_new_from_any_row_on(path):
    file = RowFile(path)
    for first in range(1, 3001, 100):
        file.append([rows(first, first + 99)], [A])
    for first_row in (1, 2, 1024, 1025, 2048, 2500, 3000):
        batch = joined(list(RowFileReader(path).batches(first_row)))
        assert batch.publish.tolist() == list(range(first_row, 3001))
    assert [len(batch) for batch in RowFileReader(path).batches(3001)] == []


@pytest.mark.parametrize("publish", [0, 1, 500, 1024, 1025, 2999, 3000, 9999])
def test_what_a_resumed_run_does_again_is_dropped(path, publish):
    file = RowFile(path)
    file.append([rows(1, 2050)], [A])
    file.append([rows(2051, 3000)], [A])
    file.drop_after(publish)
    file.append([rows(publish + 1, publish + 30)], [A])
    kept = [*range(1, min(publish, 3000) + 1), *range(publish + 1, publish + 31)]
    assert held(path).publish.tolist() == kept
    assert RowFile(path).num_rows == len(kept)


def test_rows_from_before_publishes_were_counted_anew_are_not_dropped(path):
    file = RowFile(path)
    file.append([rows(1, 100)], [A])
    file.count_anew()  # the page was lost, and its successor begins at 1
    file.append([rows(1, 50)], [A])
    file.drop_after(40)
    assert held(path).publish.tolist() == [*range(1, 101), *range(1, 41)]
    assert RowFile(path).last_publish == 40


def levels_in(path) -> list[tuple]:
    """The rows of every level of a file, in a form that compares."""
    with contextlib.closing(RowFileReader(path)) as reader:
        counts = [reader.num_rows() // 8**level for level in range(NUM_LEVELS)]
        found = [joined(reader.rows(level, 1, count)) for level, count in enumerate(counts)]
    return [(b.heads.tolist(), b.places.tolist(), b.values.tobytes()) for b in found]


@settings(max_examples=20, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 700), min_size=1, max_size=8),
    cuts=st.lists(st.integers(0, 3000), max_size=3),
)
def test_the_levels_are_those_of_the_rows_however_they_came_and_were_cut(
    sizes, cuts, tmp_path_factory
):
    path = tmp_path_factory.mktemp("rows") / "rows.sqlite"
    expected = 0
    for index, size in enumerate(sizes):
        file = RowFile(path)  # the one before was never closed, as after kill -9
        file.append([rows(expected + 1, expected + size)], [A])
        expected += size
        if index < len(cuts):
            file.drop_after(cuts[index])
            expected = min(expected, cuts[index])
    at_once = tmp_path_factory.mktemp("rows") / "rows.sqlite"
    if expected:
        RowFile(at_once).append([rows(1, expected)], [A])
        assert levels_in(path) == levels_in(at_once)
    new, _ = folded_up(rows(1, max(1, expected)), [NO_ROWS] * (NUM_LEVELS - 1))
    assert [len(heads[0]) for heads, *_ in levels_in(path)[: len(new)]] == [
        expected // 8**level for level in range(len(new))
    ]


def test_many_small_appends_leave_few_blobs(path):
    file = RowFile(path)
    for row in range(1, 1301):
        file.append([rows(row, row)], [A])
    with contextlib.closing(sqlite3.connect(path)) as database:
        (num_blobs,) = database.execute("SELECT count(*) FROM rows").fetchone()
    assert num_blobs < 64 * 4
    assert held(path).publish.tolist() == list(range(1, 1301))


@pytest.mark.parametrize("publish", [0, 1, 99, 100, 101, 2000, 5000])
def test_the_row_of_a_publish_is_found_where_some_were_lost(path, publish):
    file = RowFile(path)
    file.append([rows(1, 500)], [A])
    file.count_anew()
    file.append([rows(1, 100), rows(2001, 2100)], [A])
    number = min(publish, 100) + max(0, min(publish, 2100) - 2000)
    with contextlib.closing(RowFileReader(path)) as reader:
        assert reader.row_up_to(publish) == 500 + number


def test_metrics_keep_their_place_by_name_and_what_is_said_of_them(path):
    RowFile(path).append([rows(1, 2)], [A])
    file = RowFile(path)
    file.append([rows(3, 4, place=0)], [B])  # of a page that begins with another metric
    batch = held(path)
    assert RowFileReader(path).metrics() == [A, B]
    assert batch.values[0, :2].tolist() == [1, 2]
    assert batch.values[1, 2:].tolist() == [3, 4]
    assert (batch.values[0, 2:].view(np.uint64) == UNWRITTEN.view(np.uint64)).all()


numbers = st.floats(width=64)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=1, max_size=20))
def test_a_batch_is_decoded_to_the_bits_that_wereencoded(values):
    columns = np.array(values).T.copy()
    columns[0, 0] = UNWRITTEN
    heads = np.random.default_rng(len(values)).integers(-(2**63), 2**63 - 1, (6, len(values)))
    batch = RowBatch(heads, np.array([0, 5, 4000]), columns)
    found = decoded(encoded(batch))
    assert found.values.tobytes() == columns.tobytes()
    assert np.array_equal(found.heads, heads)
    assert found.places.tolist() == [0, 5, 4000]


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200), flips=st.lists(st.integers(0, 10_000), max_size=5))
def test_a_damaged_batch_is_an_error_of_its_own_or_no_larger_than_it_may_be(data, flips):
    blob = bytearray(encoded(rows(1, 40)))
    for flip in flips:
        blob[flip % len(blob)] ^= 1 + flip % 255
    for damaged in (bytes(blob), data):
        try:
            found = decoded(damaged)
        except RowFileError:
            continue
        assert found.heads.nbytes + found.values.nbytes <= MAX_BLOB_BYTES


def test_what_is_no_file_of_rows_is_one_line(path):
    path.write_bytes(b"hello" * 100)
    for opened in (RowFile, RowFileReader):
        with pytest.raises(RowFileError, match=r"rows\.sqlite"):
            opened(path)
    path.unlink()
    with pytest.raises(RowFileError, match="no such file"):
        RowFileReader(path)
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 3")
    database.close()
    with pytest.raises(RowFileError, match="newer"):
        RowFileReader(path)


def test_a_file_of_an_older_version_names_it(path):
    RowFile(path).close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 1")
    with pytest.raises(RowFileError, match=r"made by operant 0\.3"):
        RowFileReader(path)


def test_rows_of_thousands_of_metrics_are_packed_into_smaller_chunks(path):
    metrics = [Metric(f"m{i}") for i in range(4000)]
    file = RowFile(path)
    for first in range(1, 301, 100):
        numbers = np.arange(first, first + 100)
        heads = np.stack([numbers] * 6)
        values = numbers + np.arange(4000)[:, None] / 7
        file.append([RowBatch(heads, np.arange(4000), values)], metrics)
    batches = list(RowFileReader(path).batches())
    # 4 MiB hold 130 rows of 4,006 numbers
    assert max(map(len, batches)) == 130
    batch = joined(batches)
    assert batch.publish.tolist() == list(range(1, 301))
    assert batch.values[3999].tolist() == (batch.publish + 3999 / 7).tolist()


WRONG = {
    "a count that is none": "INSERT OR REPLACE INTO info VALUES ('last_publish', 'x')",
    "a blob as a count": "INSERT INTO info VALUES ('num_lost', x'00')",
    "a level that is none": "UPDATE metrics SET level = 'x'",
    "an endless level": "UPDATE metrics SET level = 9e999",
    "fewer rows than it says": "UPDATE rows SET num_rows = 10",
    "rows from nowhere": "UPDATE rows SET first_row = 1 << 62",
}


@pytest.mark.parametrize("kind", WRONG)
def test_numbers_that_cannot_be_are_an_error_of_the_file(path, kind):
    file = RowFile(path)
    file.append([rows(1, 5)], [A])
    file.close()
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(WRONG[kind])
        database.commit()
    reader = RowFileReader(path)
    with pytest.raises(RowFileError, match=re.escape(str(path))):
        reader.metrics(), reader.last_publish(), reader.num_lost(), list(reader.batches())
    reader.close()


def test_a_file_is_read_by_a_relative_path(path, monkeypatch):
    RowFile(path).append([rows(1, 5)], [A])
    monkeypatch.chdir(path.parent)
    assert held(Path(path.name)).publish.tolist() == [1, 2, 3, 4, 5]


HOSTILE = {
    "a blob of 70 MB": "INSERT INTO rows VALUES (0, 1, 1, 1, zeroblob(70000000))",
    "an endless view": "DROP TABLE metrics; CREATE VIEW metrics AS WITH RECURSIVE a(name) AS "
    "(SELECT 1 UNION ALL SELECT name + 1 FROM a) SELECT name FROM a",
    "a computed column": "DROP TABLE rows; CREATE TABLE rows (level, first_row, num_rows, "
    "last_publish, data GENERATED ALWAYS AS (zeroblob(70000000)))",
    "a name of 70 MB": "INSERT INTO metrics (place, name) VALUES (0, "
    "CAST(zeroblob(70000000) AS TEXT))",
    "a note of 70 MB": "INSERT INTO info VALUES ('num_lost', zeroblob(70000000))",
    "a bomb": None,
    "many bombs": None,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_one_line_in_little_memory_and_time(path, kind):
    RowFile(path).close()
    database = sqlite3.connect(path)
    if HOSTILE[kind] is None:
        size_bytes = 12 << 20
        columns = (size_bytes - 2) // (8 * 1024 + 2)
        size_bytes = 2 * columns + 8 * 1024 * (6 + columns)
        bomb = BLOB.pack(1024, columns, size_bytes) + zlib.compress(bytes(size_bytes), 9)
        for number in range(100 if "many" in kind else 1):
            row = (0, 1 + 1024 * number, 1024, 1024 * (number + 1), bomb)
            database.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", row)
    else:
        database.executescript(HOSTILE[kind])
    database.commit()
    database.close()
    code = f"""
import sys; sys.path.insert(0, {str(TOOLS)!r})
from pathlib import Path
import fuzz
from operant.shared import PageError
from operant.shared.rows.row_file import RowFile
from operant.shared.rows.row_file_reader import RowFileReader, num_lost
path = Path({str(path)!r})
fuzz.limit_memory()
def read():
    reader = RowFileReader(path)
    reader.metrics(), reader.num_rows(), reader.last_publish()
    for batch in reader.batches():
        pass
for attempt in (read, lambda: RowFile(path), lambda: num_lost(path)):
    try:
        attempt()
    except PageError as error:
        print("refused")
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20)),
    )
    assert done.stdout.endswith("done\n"), done.stderr[-1000:]


def test_to_drop_what_is_not_there_yet_counts_no_publish(path):
    file = RowFile(path)
    file.append([rows(1, 10)], [A])
    file.drop_after(20)
    assert RowFile(path).last_publish == file.last_publish == 10
