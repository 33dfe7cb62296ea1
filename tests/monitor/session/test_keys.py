"""The help is made from the keys themselves."""

from __future__ import annotations

from textual.binding import Binding
from views import texts

from operant.monitor.session.keys import help_lines, key_rows


def test_keys_of_one_purpose_share_a_row():
    bindings = [
        Binding("left", "a", "move"),
        Binding("right", "b", "move"),
        Binding("q", "c", "go"),
    ]
    assert key_rows(bindings) == [("← →", "move"), ("q", "go")]


def test_the_help_lists_sections_keys_and_states():
    lines = texts(help_lines([("everywhere", [Binding("question_mark,f1", "h", "help")])], 60))
    assert lines[0] == "everywhere"
    assert lines[1].split() == ["?", "f1", "help"]
    assert "✗ crashed" in "".join(lines)
    assert all(len(line) <= 62 for line in lines)


def test_what_a_key_does_goes_on_in_the_next_line_where_it_is_long():
    words = "the sweep of the selected run, or the newest one"
    lines = texts(help_lines([("runs", [Binding("w", "sweep", words)])], 40))
    assert " ".join(" ".join(lines[1:4]).split()).startswith(f"w {words}")
    assert not any("…" in line for line in lines)
