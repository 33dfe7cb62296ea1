"""Messages show what happened, in one line or in full, and nothing a terminal would obey."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from views import NOON_NS, texts

from operant.monitor.panels.event_lines import brief_lines, full_lines
from operant.monitor.render.lines import line_width
from operant.shared import Event

TRACEBACK = "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: no"


def event(text: str, level="info") -> Event:
    return Event(1, NOON_NS, level, text)


def test_an_event_has_its_time_and_its_text():
    assert texts(brief_lines([event("checkpoint saved")], 40))[0].rstrip() == (
        "12:00:00 · checkpoint saved"
    )


def test_a_traceback_in_brief_is_its_last_line_and_in_full_all_of_it():
    assert "ValueError: no" in texts(brief_lines([event(TRACEBACK, "error")], 60))[0]
    full = texts(full_lines([event(TRACEBACK, "error")], 60))
    assert [line[11:].rstrip() for line in full] == TRACEBACK.splitlines()


def test_long_texts_are_broken_in_full_and_lose_nothing():
    words = " ".join(f"word{i}" for i in range(20))
    full = "".join(line[11:] for line in texts(full_lines([event(words)], 41)))
    assert full.split() == words.split()


def test_a_narrow_pane_shows_all_words_of_an_evaluation():
    lines = texts(brief_lines([event("500.0 mean return of the evaluation")], 26))
    assert [line.strip() for line in lines] == [
        "12:00:00 · 500.0 mean",
        "return of the",
        "evaluation",
    ]


@given(st.text(), st.sampled_from(["debug", "info", "warning", "error"]), st.integers(1, 60))
def test_every_text_gives_harmless_lines_that_fit(text, level, width):
    for as_lines in (brief_lines, full_lines):
        lines = as_lines([event(text, level)], width)
        assert lines
        for line in lines:
            assert line_width(line) <= max(width, 19)
            assert all(part.isprintable() for part, _ in line)
