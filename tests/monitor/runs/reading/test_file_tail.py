"""A log is read as it grows, whatever becomes of the file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.runs.reading.file_tail import MAX_LINES, FileTail, last_traceback

TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "loop.py", line 1, in train',
    "    no",
    "ValueError: no",
)


def test_lines_come_once_and_an_unfinished_one_is_shown(tmp_path):
    path = tmp_path / "train.log"
    tail = FileTail(path)
    assert tail.read() == ()
    path.write_text("one\ntw")
    assert tail.read() == ("one", "tw")
    with path.open("a") as log:
        log.write("o\nthree\n")
    assert tail.read() == ("one", "two", "three")
    assert tail.read() is tail.read()


def test_a_line_written_over_shows_what_stands_there_at_last(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(b"10%\r20%\r30%\r\ndone\n")
    assert FileTail(path).read() == ("30%", "done")


def test_a_log_that_begins_anew_is_read_anew(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("old\n" * 5)
    tail = FileTail(path)
    tail.read()
    path.write_text("new\n")
    assert tail.read() == ("new",)


def test_of_a_long_log_the_end_is_kept(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("".join(f"line {i}\n" for i in range(100_000)))
    lines = FileTail(path).read()
    assert len(lines) == MAX_LINES
    assert lines[-1] == "line 99999"


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_in_any_pieces_give_the_same_lines(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("log") / "train.log"
    tail = FileTail(path)
    with path.open("wb", buffering=0) as log:
        for piece in pieces:
            log.write(piece)
            tail.read()
    assert tail.read() == FileTail(path).read()


def test_the_last_traceback_ends_with_its_error():
    log = (*TRACEBACK, "resumed", "fine", *TRACEBACK[:3], "KeyError: 'x'", "bye")
    assert last_traceback(log)[-1] == "KeyError: 'x'"
    assert last_traceback(TRACEBACK) == TRACEBACK
    assert last_traceback(("all", "well")) == ()


def test_another_file_under_the_same_name_is_read_anew(tmp_path):
    path, other = tmp_path / "train.log", tmp_path / "other"
    path.write_text("old\n" * 1000)
    tail = FileTail(path)
    tail.read()
    other.write_text("new\n" * 2000)
    other.rename(path)
    assert tail.read() == ("new",) * 2000
