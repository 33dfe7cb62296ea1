"""Dots land where they should, and cells cost as few pieces as they can."""

from __future__ import annotations

import numpy as np
from views import texts

from operant.monitor.render.canvas import Canvas, Spans


def spans(*columns: tuple[int, int]) -> Spans:
    top, bottom = zip(*columns, strict=True)
    return Spans(np.array(top), np.array(bottom))


NONE = (1, 0)


def test_each_dot_has_its_bit():
    rows = []
    for column in range(2):
        for row in range(4):
            canvas = Canvas(1, 1)
            canvas.draw_spans(spans(*[(row, row) if i == column else NONE for i in range(2)]), "a")
            rows += texts(canvas.lines())
    assert rows == list("⠁⠂⠄⡀⠈⠐⠠⢀")


def test_a_span_runs_through_cells_and_is_cut_at_the_edges():
    canvas = Canvas(1, 3)
    canvas.draw_spans(spans((3, 8), (-5, 99)), "a")
    # left: the lowest dot, all four, the highest dot; right: all of them
    assert texts(canvas.lines()) == ["⣸", "⣿", "⢹"]


def test_what_is_drawn_later_covers_what_was_there():
    canvas = Canvas(3, 1)
    canvas.draw_rule(0, "grid")
    canvas.draw_spans(spans((0, 3), (0, 3), NONE, NONE, NONE, NONE), "band")
    canvas.draw_spans(spans((0, 0), NONE, NONE, NONE, (3, 3), NONE), "line")
    canvas.draw_letter(1, 0, "●", "point")
    assert canvas.lines() == [[("⠁", "line"), ("●", "point"), ("⡀", "line")]]


def test_blank_cells_join_the_piece_before_them():
    canvas = Canvas(6, 2)
    canvas.draw_spans(spans(*[(0, 0) if i in (0, 4) else NONE for i in range(12)]), "line")
    # The first piece holds the gap as well; an empty row is one piece.
    assert canvas.lines() == [[("⠁ ⠁   ", "line")], [("      ", "")]]
