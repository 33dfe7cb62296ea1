"""The list of runs keeps its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from views import all_states, make_row, texts

from operant.monitor.charts.charted_metrics import RETURN, main_heading
from operant.monitor.panels.run_table import draw_count, notice_of, run_columns
from operant.monitor.render.columns import draw_head, draw_row, fit_columns, order_at
from operant.monitor.render.sparks import BLOCKS
from operant.shared.runs.run_elsewhere import RunElsewhere
from operant.shared.runs.run_notes import RunNotes

WIDTHS = [57, 77, 117, 197]  # of screens of 60 to 200 cells


def drawn(width, rows, order="newest", is_reversed=False, **columns):
    """The head and the rows as texts."""
    fitted = fit_columns(run_columns(order, **columns), width)
    head = draw_head(fitted, (order, is_reversed))
    return texts([head, *(draw_row(fitted, row, False, notice_of(row)) for row in rows)])


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_stand_under_their_names(width):
    head, row = drawn(width, [make_row("a", "running")])
    assert "machine" not in head
    for name, value in [("age", "3s"), ("return", "487.3"), ("done", "50.0%")]:
        assert head.index(name) + len(name) == row.index(value) + len(value)


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_with_a_reference_each_row_has_its_distance_in_percent(width):
    reference = make_row("a", "running", metrics={RETURN: -100.0})
    better = make_row("b", "running", metrics={RETURN: -85.0})
    other = make_row("c", "running", metrics={"train/loss": 1.0})
    head, *rows = drawn(width, [reference, better, other], reference=reference)
    place = head.index("vs ref")
    ends = [row[: place + len("vs ref")] for row in rows]
    assert [end.split()[-1] for end in ends] == ["ref", "+15.0%", "-"]
    assert order_at(fit_columns(run_columns(reference=reference), width), place) == "return"


@pytest.mark.parametrize("width", WIDTHS)
def test_with_other_machines_each_row_names_its_own(width):
    hosts = ["gpu-box", "b"]
    near, far = make_row("near", "running"), make_row("far", "running")
    far = replace(far, run=RunElsewhere("gpu-box", far.run.id, far.run.folder), host="gpu-box")
    rows = (near, far, replace(far, is_lost=True), replace(far, status=None))
    head, *lines = drawn(width, rows, hosts=hosts)
    place = head.index("machine")
    for row, word in zip(lines, ["here", "gpu-box", "▲gpu-box", "gpu-box"], strict=True):
        assert row[place:].startswith(word)
        assert "gpu-box:" not in row
    assert order_at(fit_columns(run_columns(hosts=hosts), width), place) == "machine"


def test_the_state_is_a_word_and_a_symbol():
    assert drawn(77, [make_row("a", "crashed")])[1].startswith("✗ crashed")


def test_narrow_screens_drop_the_date_of_the_name_and_wide_ones_show_a_bar():
    row = make_row("cart_pole-ppo-k3f9", "running")
    assert "20261121" not in drawn(77, [row])[1]
    wide = drawn(197, [row])[1]
    assert "20261121-142530-cart_pole-ppo-k3f9" in wide
    assert "━" in wide


def test_a_run_without_a_return_names_its_main_metric():
    row = make_row("classifier-k3f9", "running", metrics={"train/loss": 0.75})
    main = main_heading(["train/loss", RETURN])
    head, text = drawn(117, [row], main=main)
    assert " classifier-k3f9 train/loss " in text  # without the date, for want of room
    assert "0.750" in text
    assert " metric " in head
    assert "return" not in head
    fitted = fit_columns(run_columns(main=main), 117)
    assert order_at(fitted, head.index("metric")) == "return"
    assert main_heading(["", RETURN]) == "return"


@pytest.mark.parametrize(("width", "num_cells"), [(57, 0), (77, 0), (117, 10), (197, 16)])
def test_the_return_over_the_run_stands_under_its_name_if_there_is_room(width, num_cells):
    row = replace(make_row("a", "running"), returns=tuple(range(32)))
    head, text = drawn(width, [row])
    assert sum(letter in BLOCKS for letter in text) == num_cells
    if num_cells:
        assert head.index("curve") == text.index("▁")


@pytest.mark.parametrize("width", WIDTHS)
def test_what_the_list_is_sorted_by_has_a_column_that_can_be_clicked(width):
    order = "metric:loss/value"
    row = make_row("a", "running", metrics={"loss/value": 12.5, "episode/return": 1.0})
    head, text = drawn(width, [row], order, True)
    end = head.index("value↑") + len("value↑")
    assert text[:end].endswith(" 12.50")
    assert order_at(fit_columns(run_columns(order), width), end - 1) == order


def test_tags_and_the_note_stand_after_the_name_if_there_is_room():
    row = replace(make_row("a-k3f9", "running"), notes=RunNotes("", "long " * 50, ("tag",)))
    assert "-a-k3f9 #tag long long " in drawn(197, [row])[1]
    assert "#tag" not in drawn(33, [row])[1]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_keeps_its_columns_whatever_is_written_about_it(width):
    row = make_row("cart_pole-ppo-k3f9", "running")
    notes = RunNotes("", "long " * 50, ("tag", "t" * 50))
    _, plain, noted = drawn(width, [row, replace(row, notes=notes)])
    assert len(plain) == len(noted)
    assert plain.split()[-3:] == noted.split()[-3:]
    assert ("#tag" in noted) == (width > 60)


def test_a_run_without_numbers_says_why():
    row = make_row("a", "running", age_s=None, message="not an operant page")
    assert "not an operant page" in drawn(77, [row])[1]


def test_runs_are_counted():
    assert draw_count(all_states().rows) == "7 runs, 3 alive"
    assert draw_count(all_states().rows[-1:]) == "1 run"
