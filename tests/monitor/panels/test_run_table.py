"""The list of runs keeps its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from views import all_states, make_row, texts

from operant.monitor.charts.charted_metrics import RETURN, main_heading
from operant.monitor.panels.run_table import (
    draw_count,
    draw_head,
    draw_row,
    machine_width,
    order_under,
)
from operant.monitor.render.lines import line_width
from operant.monitor.render.sparks import BLOCKS
from operant.monitor.runs.list.runs_poller import RunRow
from operant.shared.runs.run_elsewhere import RunElsewhere


@pytest.mark.parametrize("width", [40, 59, 79, 119, 199])
def test_every_row_takes_the_width_of_the_screen(width):
    for row in (*all_states().rows, RunRow(make_row("unread", "running").run)):
        for is_selected in (False, True):
            assert line_width(draw_row(row, width, is_selected)) == width
            by_value = draw_row(row, width, is_selected, order="metric:loss/value")
            assert line_width(by_value) == width


@pytest.mark.parametrize("width", [59, 79, 119, 199])
def test_numbers_stand_under_their_names(width):
    (head,) = texts([draw_head(width)])
    (row,) = texts([draw_row(make_row("a", "running"), width, False)])
    for name, value in [("age", "3s"), ("return", "487.3"), ("done", "50.0%")]:
        assert head.index(name) + len(name) == row.index(value) + len(value)


@pytest.mark.parametrize("width", [79, 119, 199])
def test_with_a_reference_each_row_has_its_distance_in_percent(width):
    reference = make_row("a", "running", metrics={RETURN: -100.0})
    better = make_row("b", "running", metrics={RETURN: -85.0})
    other = make_row("c", "running", metrics={"train/loss": 1.0})
    rows = [draw_row(row, width, False, reference=reference) for row in (reference, better, other)]
    head, *rows = texts([draw_head(width, has_reference=True), *rows])
    ends = [row[: head.index("vs ref") + len("vs ref")] for row in rows]
    assert [end.split()[-1] for end in ends] == ["ref", "+15.0%", "-"]
    assert order_under(width, head.index("vs ref"), has_reference=True) == "return"


@pytest.mark.parametrize("width", [59, 79, 119, 199])
def test_with_other_machines_each_row_names_its_own(width):
    machine = machine_width(["gpu-box", "b"])
    near, far = make_row("near", "running"), make_row("far", "running")
    far = replace(far, run=RunElsewhere("gpu-box", far.run.id, far.run.folder), host="gpu-box")
    head, *rows = texts(
        [draw_head(width, machine=machine)]
        + [
            draw_row(row, width, False, machine=machine)
            for row in (near, far, replace(far, is_lost=True), replace(far, status=None))
        ]
    )
    place = head.index("machine")
    for row, word in zip(rows, ["here", "gpu-box", "▲gpu-box", "gpu-box"], strict=True):
        assert len(row) == width
        assert row[place:].startswith(word)
        assert "gpu-box:" not in row
    assert order_under(width, place, machine=machine) == "machine"
    assert head.index("done") + 4 == rows[0].index("50.0%") + 5


def test_one_machine_has_no_column():
    assert machine_width([]) == 0
    assert "machine" not in texts([draw_head(119)])[0]


def test_the_state_is_a_word_and_a_symbol():
    (row,) = texts([draw_row(make_row("a", "crashed"), 79, False)])
    assert row[1:].startswith("✗ crashed")


def test_narrow_screens_drop_the_date_of_the_name_and_wide_ones_show_a_bar():
    row = make_row("cart_pole-ppo-k3f9", "running")
    assert "20261121" not in texts([draw_row(row, 79, False)])[0]
    wide = texts([draw_row(row, 199, False)])[0]
    assert "20261121-142530-cart_pole-ppo-k3f9" in wide
    assert "━" in wide


def test_a_run_without_a_return_names_its_main_metric():
    row = make_row("classifier-k3f9", "running", metrics={"train/loss": 0.75})
    (text,) = texts([draw_row(row, 119, False)])
    assert " classifier-k3f9 train/loss " in text  # without the date, for want of room
    assert "0.750" in text
    (head,) = texts([draw_head(119, main=main_heading(["train/loss", RETURN]))])
    assert " metric " in head
    assert "return" not in head
    assert order_under(119, head.index("metric")) == "return"
    assert main_heading(["", RETURN]) == "return"


@pytest.mark.parametrize(("width", "num_cells"), [(59, 0), (79, 0), (119, 16), (199, 16)])
def test_the_return_over_the_run_stands_under_its_name_where_there_is_room(width, num_cells):
    row = replace(make_row("a", "running"), returns=tuple(range(32)))
    (text,) = texts([draw_row(row, width, False)])
    assert sum(letter in BLOCKS for letter in text) == num_cells
    if num_cells:
        (head,) = texts([draw_head(width)])
        assert head.index("curve") == text.index("▁")


@pytest.mark.parametrize("width", [59, 79, 119, 199])
def test_what_the_list_is_sorted_by_has_a_column_that_can_be_clicked(width):
    row = make_row("a", "running", metrics={"loss/value": 12.5, "episode/return": 1.0})
    (head,) = texts([draw_head(width, "metric:loss/value", True)])
    (text,) = texts([draw_row(row, width, False, order="metric:loss/value")])
    end = head.index("value↑") + len("value↑")
    assert text[:end].endswith(" 12.50")
    assert order_under(width, end - 1, "metric:loss/value") == "metric:loss/value"


def test_a_run_without_numbers_says_why():
    row = make_row("a", "running", age_s=None, message="not an operant page")
    assert "not an operant page" in texts([draw_row(row, 79, False)])[0]


def test_runs_are_counted():
    assert draw_count(all_states().rows) == "7 runs, 3 alive"
    assert draw_count(all_states().rows[-1:]) == "1 run"
