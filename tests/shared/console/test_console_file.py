"""The console's file has plain lines with times, bounded and without secrets."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.console.console_file import (
    LAST_BYTES,
    MAX_BYTES,
    MAX_CHARACTERS,
    ConsoleFile,
    time_of,
    time_text,
    wall_ns_of,
    without_time,
)


@pytest.fixture
def kept(tmp_path):
    """The texts of the lines that the file has after each of some pieces was printed."""

    def keep(*pieces: bytes | str, secrets=()) -> list[str]:
        path = tmp_path / "console.log"
        path.unlink(missing_ok=True)
        file = ConsoleFile(path, secrets)
        for piece in pieces:
            file.feed(piece.encode() if isinstance(piece, str) else piece)
        return [without_time(line).rstrip() for line in path.read_text().splitlines()]

    return keep


def test_each_line_has_its_time_which_other_tools_can_read(tmp_path):
    path = tmp_path / "console.log"
    file = ConsoleFile(path)
    file.feed(b"one\n\ntwo")
    lines = path.read_text().splitlines()
    assert [without_time(line) for line in lines] == ["one", "", "two"]
    for line in lines:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ", line)
        assert time_text(wall_ns_of(time_of(line))) == time_of(line)


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        ("10%\r20%\r100%\ndone\n", ["100%", "done"]),
        ("long line\rshort\n", ["short"]),
        ("long line\r\x1b[Kshort\r\n", ["short"]),
        ("\x1b[1;31mred\x1b[0m plain\n", ["red plain"]),
        ("\x1b]0;a title\x07text\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", ["textlink"]),
        ("ab\tc\n", ["ab      c"]),
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("bell\x07 null\x00 \x7fdelete\n", ["bell  null   delete"]),
        ("one\x1b[2A\x1b[Ktwo\n", ["onetwo"]),
        ("\u202eright to left\u202c\n", [" right to left"]),
    ],
)  # fmt: skip
def test_lines_are_plain_and_what_was_written_over_is_gone(kept, printed, lines):
    assert kept(printed) == lines
    assert kept(*printed) == lines  # in any pieces


def test_a_progress_bar_takes_a_line_and_is_there_while_it_moves(kept):
    bar = [f"\r{percent:3}% |{'#' * percent}" for percent in range(101)]
    assert kept("begin\n", *bar[:51]) == ["begin", f" 50% |{'#' * 50}"]
    assert kept("begin\n", *bar, "\nend\n") == ["begin", f"100% |{'#' * 100}", "end"]


def test_secrets_are_masked_also_where_pieces_cut_them(kept):
    said = "key sk-abcdefghijklmnop1234567 and DB_PASSWORD=hunter2\n"
    assert kept(said) == kept(*said) == ["key *** and DB_PASSWORD=***"]
    assert kept("it is correct-horse!\n", secrets=["correct-horse"]) == ["it is ***!"]
    body = "\n".join(["Ab3" * 21] * 3)
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    assert "Ab3" not in "".join(kept(key))
    assert "Ab3" not in "".join(kept(*key.splitlines(keepends=True)))


def test_a_line_without_an_end_takes_little_memory_and_keeps_its_end(kept):
    (line,) = kept(*["x" * 100_000] * 30, "end")
    assert len(line) == MAX_CHARACTERS
    assert line.endswith("xend")


def test_of_long_output_the_last_part_stays(tmp_path):
    path = tmp_path / "console.log"
    file = ConsoleFile(path)
    for start in range(0, 150_000, 500):
        file.feed("".join(f"line {i:06}, {'x' * 60}\n" for i in range(start, start + 500)).encode())
        assert path.stat().st_size <= MAX_BYTES
    note, *texts = map(without_time, path.read_text().splitlines())
    assert note == "[operant: what was printed before is not kept]"
    numbers = [int(text[5:11]) for text in texts]
    assert numbers == list(range(numbers[0], 150_000))
    assert path.stat().st_size > LAST_BYTES * 0.9


def test_a_full_disk_loses_lines_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "console.log"
    file, write = ConsoleFile(path), os.pwrite
    file.feed(b"one\n")
    with monkeypatch.context() as patched:
        patched.setattr("os.pwrite", lambda fd, data, start: write(fd, data[:10], start))
        file.feed(b"two\n")
    file.feed(b"three\n")
    assert [without_time(x) for x in path.read_text().splitlines()] == ["one", "three"]


def test_a_console_of_ten_gigabytes_becomes_a_small_one_at_once(tmp_path):
    path = tmp_path / "console.log"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    file = ConsoleFile(path)
    file.feed(b"last\n")
    assert path.stat().st_size < MAX_BYTES
    assert path.read_text().endswith(" last\n")


def test_a_resumed_run_goes_on_in_its_file(tmp_path):
    path = tmp_path / "console.log"
    path.write_text("before\nhalf")
    file = ConsoleFile(path)
    file.feed(b"after\n")
    assert [without_time(x) for x in path.read_text().splitlines()] == ["before", "half", "after"]


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"\x1b[A", b"\x1b[2K", b"\n", b"\r"])))
def test_any_bytes_in_any_pieces_give_the_same_harmless_lines(tmp_path_factory, pieces):
    folder = tmp_path_factory.mktemp("console")
    texts = []
    for name, parts in (("pieces", pieces), ("whole", [b"".join(pieces)])):
        file = ConsoleFile(folder / name)
        for part in parts:
            file.feed(part)
        os.close(file._fd)
        lines = (folder / name).read_text().split("\n")
        assert all(line.isprintable() for line in lines)
        texts.append([without_time(line).rstrip() for line in lines])
    assert texts[0] == texts[1]
