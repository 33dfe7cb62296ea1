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
