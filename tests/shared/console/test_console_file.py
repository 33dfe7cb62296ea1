"""The console's file has what a terminal would show, with times, bounded and without secrets."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.console.console_file import (
    FIRST_BYTES,
    LAST_BYTES,
    MAX_BYTES,
    MAX_CHARACTERS,
    MAX_KEY_LINES,
    ConsoleFile,
    time_of,
    time_text,
    wall_ns_of,
    without_time,
)

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAAB3NzaC1yc2E\n{}\nafter"


@pytest.fixture
def kept(tmp_path):
    """The texts of the lines that the file has after each of some pieces was printed."""

    def keep(*pieces: bytes | str, secrets=(), closes=True) -> list[str]:
        path = tmp_path / "console.log"
        path.unlink(missing_ok=True)
        file = ConsoleFile(path, secrets)
        for piece in pieces:
            file.feed(piece.encode() if isinstance(piece, str) else piece)
            file.flush()
        if closes:
            file.close()
        return [without_time(line).rstrip() for line in path.read_text().splitlines()]

    return keep


def test_each_line_has_its_time_which_other_tools_can_read(tmp_path):
    path = tmp_path / "console.log"
    file = ConsoleFile(path)
    file.feed(b"one\n\ntwo")
    file.flush()
    lines = path.read_text().splitlines()
    assert [without_time(line) for line in lines] == ["one", "", "two"]
    for line in lines:
        assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ", line)
        assert time_text(wall_ns_of(time_of(line))) == time_of(line)


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        ("10%\r20%\r100%\ndone\n", ["100%", "done"]),
        ("long line\rshort\n", ["shortline"]),  # as a terminal shows it
        ("long line\r\x1b[Kshort\n", ["short"]),
        ("\x1b[1;31mred\x1b[0m plain\n", ["red plain"]),
        ("\x1b]0;a title\x07text\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", ["textlink"]),
        ("ab\b\bAB\tc\n", ["AB      c"]),
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("bell\x07 null\x00 \x7fdelete\n", ["bell null delete"]),
        ("one\ntwo\n\x1b[2A\x1b[Kfirst\n\x1b[Ksecond\n", ["first", "second"]),
        ("a\nb\nc\x1b[2A\x1b[Jd\n", ["ad"]),
        ("one\x1b[Htwo\n", ["one", "two"]),
        ("\x1b[31", []),
        ("\u202eright to left\u202c\n", [" right to left"]),
    ],
)  # fmt: skip
def test_what_a_terminal_would_show_is_kept(kept, printed, lines):
    assert kept(printed) == lines
    assert kept(*printed) == lines  # in any pieces


def test_a_progress_bar_takes_a_line_and_is_there_while_it_moves(kept):
    bar = [f"\r{percent:3}% |{'#' * percent}" for percent in range(101)]
    assert kept("begin\n", *bar[:51], closes=False) == ["begin", f" 50% |{'#' * 50}"]
    assert kept("begin\n", *bar, "\nend\n") == ["begin", f"100% |{'#' * 100}", "end"]


def test_bars_of_several_lines_take_as_many(kept):
    frames = [f"\r\x1b[2Kone {i}\n\x1b[2Ktwo {i}\x1b[1A" for i in range(100)]
    assert kept(*frames, "\n\nend\n") == ["one 99", "two 99", "end"]


def test_the_file_never_shrinks_while_it_is_followed(tmp_path):
    path = tmp_path / "console.log"
    file, size = ConsoleFile(path), 0
    for piece in (b"a long line", b"\r\x1b[K", b"b", b"\nnext", b"\r\x1b[K\x1b[A\x1b[K"):
        file.feed(piece)
        file.flush()
        assert path.stat().st_size >= size
        size = path.stat().st_size
    file.feed(b"last")
    file.close()
    assert [without_time(line) for line in path.read_text().splitlines()] == ["last"]


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\x01" * 500, bytes(range(256)) * 10])
def test_bytes_that_are_no_text_are_harmless(kept, data):
    for line in kept(data, "\nfine\n"):
        assert line.isprintable()


def test_an_endless_line_is_cut_and_says_by_how_much(kept):
    (line,) = kept(*["x" * 100_000] * 30)
    assert line == f"{'x' * MAX_CHARACTERS} [operant: {3_000_000 - MAX_CHARACTERS} more characters]"


def test_a_cursor_sent_far_to_the_right_takes_no_memory(kept):
    (line,) = kept("a\x1b[9999C\x1b[9999C\x1b[9999Cb\n")
    assert len(line) < 2 * MAX_CHARACTERS


def test_secrets_are_masked_also_where_pieces_cut_them(kept):
    said = "key sk-abcdefghijklmnop1234567 and DB_PASSWORD=hunter2\n"
    assert kept(said) == kept(*said) == ["key *** and DB_PASSWORD=***"]
    assert kept("it is correct-horse!\n", secrets=["correct-horse"]) == ["it is ***!"]
    assert "sk-abc" not in kept("x" * (MAX_CHARACTERS - 5) + " sk-abcdefghijklmnop1234567\n")[0]


def test_a_secret_that_is_cut_does_not_move_to_where_it_shows(kept):
    key = "sk-" + "abcdefghijklmnop1234567"
    for start in range(4960, 5010, 3):
        (line,) = kept(f"{key * 100} ".ljust(start) + key[:18] + key[3:] + "x" * 2000 + "\n")
        assert "sk-" not in line


def test_private_keys_are_masked_over_their_lines(kept):
    end = "-----END OPENSSH PRIVATE KEY-----"
    begin = "-----BEGIN OPENSSH PRIVATE KEY-----"
    assert kept(KEY.format(end)) == [begin, "***", "***", f"***{end}", "after"]
    assert kept(*KEY.format(end)) == [begin, "***", "***", f"***{end}", "after"]
    endless = kept(begin + "\n" + "line\n" * 2 * MAX_KEY_LINES)
    assert endless[1 : 1 + MAX_KEY_LINES] == ["***"] * MAX_KEY_LINES
    assert endless[1 + MAX_KEY_LINES :] == ["line"] * MAX_KEY_LINES


def test_the_first_and_the_last_part_of_long_output_stay_and_the_rest_is_counted(tmp_path):
    path = tmp_path / "console.log"
    file, num_lines = ConsoleFile(path), 0
    for _ in range(300):
        piece = "".join(f"line {i:06}, {'x' * 60}\n" for i in range(num_lines, num_lines + 500))
        num_lines += 500
        file.feed(piece.encode())
        file.flush()
        assert path.stat().st_size <= MAX_BYTES + (1 << 16)
    file.close()
    lines = path.read_text().splitlines()
    texts = list(map(without_time, lines))
    assert texts[0].startswith("line 000000,")
    assert texts[-1].startswith(f"line {num_lines - 1},")
    (gap,) = [i for i, text in enumerate(texts) if text.startswith("[operant: ")]
    before, after = (int(texts[gap + i][5:11]) for i in (-1, 1))
    num_bytes = (after - before - 1) * (len(lines[0]) + 1)
    assert texts[gap] == f"[operant: {num_bytes} bytes are not kept]"
    assert sum(map(len, lines[:gap])) > FIRST_BYTES * 0.9
    assert sum(map(len, lines[gap:])) > LAST_BYTES * 0.9
    assert list(map(time_of, lines)) == sorted(map(time_of, lines))


def test_a_console_of_ten_gigabytes_becomes_a_small_one_at_once(tmp_path):
    path = tmp_path / "console.log"
    with path.open("wb") as file:
        file.write(b"first\n" * 1000)
        file.truncate(10 << 30)
    file = ConsoleFile(path)
    file.feed(b"last\n")
    file.close()
    assert path.stat().st_size < MAX_BYTES
    assert path.read_bytes().startswith(b"first\n")
    assert path.read_text().endswith(" last\n")


def test_a_resumed_run_goes_on_in_its_file(tmp_path):
    path = tmp_path / "console.log"
    path.write_text("before\nhalf")
    file = ConsoleFile(path)
    file.feed(b"after\n")
    file.close()
    assert [without_time(x) for x in path.read_text().splitlines()] == ["before", "half", "after"]


def test_a_full_disk_loses_lines_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "console.log"
    file = ConsoleFile(path)
    file.feed(b"one\n")
    file.flush()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.pwrite", full)
        file.feed(b"two\n")
        file.flush()
    file.feed(b"three\n")
    file.close()
    lost = "[operant: 1 lines are not kept: the disk was full]"
    assert [without_time(x) for x in path.read_text().splitlines()] == ["one", lost, "three"]


def test_a_disk_that_takes_a_part_keeps_whole_lines_and_no_key(tmp_path, monkeypatch):
    path = tmp_path / "console.log"
    file, write = ConsoleFile(path), os.pwrite
    file.feed(b"one\n")
    file.flush()
    with monkeypatch.context() as patched:
        patched.setattr("os.pwrite", lambda fd, data, start: write(fd, data[:30], start))
        file.feed(b"two\n-----BEGIN PRIVATE KEY-----\nMIIE\n")
        file.flush()
        assert path.read_text().count("\n") == 1
        file.feed(b"lost\n")
        file.flush()
    file.feed(b"MIIF\n-----END PRIVATE KEY-----\nafter\n")
    file.close()
    assert [without_time(x) for x in path.read_text().splitlines()] == [
        "one", "[operant: 4 lines are not kept: the disk was full]", "***",
        "***-----END PRIVATE KEY-----", "after",
    ]  # fmt: skip


def test_the_end_tells_of_lines_that_a_full_disk_did_not_take(tmp_path, monkeypatch):
    path = tmp_path / "console.log"
    file, write = ConsoleFile(path), os.pwrite
    monkeypatch.setattr("os.pwrite", lambda *all: write(*all) if len(all[1]) < 200 else 0)
    file.feed(b"x" * 300)
    file.close()
    (line,) = path.read_text().splitlines()
    assert without_time(line) == "[operant: 1 lines are not kept: the disk was full]"


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"\x1b[A", b"\x1b[2K", b"\n", b"\r"])))
def test_any_bytes_in_any_pieces_give_the_same_harmless_lines(tmp_path_factory, pieces):
    folder = tmp_path_factory.mktemp("console")
    texts = []
    for name, parts in (("pieces", pieces), ("whole", [b"".join(pieces)])):
        file = ConsoleFile(folder / name)
        for part in parts:
            file.feed(part)
            file.flush()
        file.close()
        lines = (folder / name).read_text().split("\n")
        assert all(line.isprintable() for line in lines)
        texts.append([without_time(line).rstrip() for line in lines])
    assert texts[0] == texts[1]
