"""A console as rows of a pane: found, folded, wrapped, and drawn only where shown."""

from __future__ import annotations

from operant.monitor.panels.console_lines import ConsoleRows, console_parts
from operant.shared.console.console_file import time_text

TEXTS = (
    "begin", "Traceback (most recent call last):", '  File "loop.py", line 1, in train', "    no",
    "ValueError: no", "a warning of sorts", "the end",
)  # fmt: skip


def timed(texts, start_s=1_000_000):
    return tuple(f"{time_text((start_s + i) * 10**9)} {text}" for i, text in enumerate(texts))


def rows_of(lines, *, words=(), folds=True, width=60, wraps=False, selected=-1):
    return ConsoleRows(lines, console_parts(lines, words, folds), width, wraps, selected)


def texts(rows) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in rows[:]]


def test_each_line_has_its_clock_and_a_traceback_is_its_error():
    rows = rows_of(timed(TEXTS))
    assert [text[9:] for text in texts(rows)] == [
        "begin", "▸ ValueError: no  (traceback, 4 lines)", "a warning of sorts", "the end",
    ]  # fmt: skip
    assert texts(rows)[0][2] == texts(rows)[0][5] == ":"
    assert [line[1][1] for line in rows[:]] == ["text", "error", "warning", "text"]
    assert [text[9:] for text in texts(rows_of(timed(TEXTS), folds=False))] == list(TEXTS)


def test_a_log_without_times_is_shown_without_clocks():
    assert texts(rows_of(TEXTS, folds=False)) == list(TEXTS)


def test_all_words_must_be_in_a_line_or_somewhere_in_a_folded_traceback():
    lines = timed(TEXTS)
    assert [text[9:] for text in texts(rows_of(lines, words=["WARN", "of"]))] == [TEXTS[5]]
    assert len(rows_of(lines, words=["loop.py", "valueerror"])) == 1
    assert len(rows_of(lines, words=["loop.py", "valueerror"], folds=False)) == 0
    assert len(rows_of(lines, words=["1970"])) == 0  # what stands there is found, and no dates


def test_long_lines_are_cut_or_go_on_in_the_next_row():
    lines = timed(["0123456789" * 3, "短い" * 9, "short"])
    cut = texts(rows_of(lines, width=20))
    assert [text[9:] for text in cut] == ["0123456789…", "短い短い短…", "short"]
    rows = rows_of(lines, width=20, wraps=True)
    wrapped = [text[9:] for text in texts(rows)]
    assert wrapped[:3] == ["01234567890", "12345678901", "23456789"]
    assert "".join(wrapped[3:-1]) == "短い" * 9
    assert [rows.line_at(row) for row in range(3)] == [0, 0, 0]
    assert [rows.row_of(line) for line in range(3)] == [0, 3, len(rows) - 1]


def test_the_selected_line_stands_out_and_its_neighbours_are_known():
    rows = rows_of(timed(TEXTS), selected=4)
    assert [line[1][1] for line in rows[:]] == ["text", "cursor_error", "warning", "text"]
    assert rows.row_of(2) == rows.row_of(4) == 1
    assert [rows.beside(4, steps) for steps in (-9, -1, 1, 2, 9)] == [0, 0, 5, 6, 6]


def test_a_console_without_lines_has_no_rows():
    assert len(rows_of(())) == 0
    assert rows_of(())[0:5] == []


def test_escapes_of_a_file_that_another_program_wrote_are_harmless():
    (text,) = texts(rows_of(("\x1b[31mred\x1b]0;title\x07\u202e",)))
    assert text.isprintable()
