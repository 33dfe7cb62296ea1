"""The list of groups keeps its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from groups import ROWS
from views import texts

from operant.monitor.render.lines import line_width
from operant.monitor.runs.list.run_groups import NAME, RunGrouper
from operant.monitor.widgets.groups_table import draw_group, draw_group_head, order_under_group

GROUP, _ = RunGrouper().groups(ROWS, NAME)
UNREAD = replace(GROUP, rows=tuple(replace(row, status=None) for row in GROUP.rows))


@pytest.mark.parametrize("width", [40, 59, 79, 119, 199])
@pytest.mark.parametrize("order", ["newest", "return", "metric:loss/value"])
def test_every_row_takes_the_width_of_the_screen(width, order):
    assert line_width(draw_group_head(width, order)) == width
    for group in (GROUP, UNREAD):
        assert line_width(draw_group(group, width, True, "+", order)) == width


@pytest.mark.parametrize("width", [59, 79, 119, 199])
def test_numbers_stand_under_their_names(width):
    (head,) = texts([draw_group_head(width)])
    (row,) = texts([draw_group(GROUP, width, False, spread="range")])
    # returns 101, 201 and 50
    assert head.index("runs") + 4 == row.index(" 3 ") + 2
    assert head.index("return") + 6 == row.index("117.3") + 5
    assert head.index("25% to 75%") == row.index("50.00 to 201.0")
    assert "!1 ✓2" in row


@pytest.mark.parametrize("width", [79, 119, 199])
def test_with_a_reference_each_group_has_its_distance_in_percent(width):
    other = RunGrouper().groups(ROWS, NAME)[1]
    (head,) = texts([draw_group_head(width, has_reference=True)])
    rows = texts([draw_group(g, width, False, reference=other) for g in (GROUP, other, UNREAD)])
    assert {len(row) for row in (head, *rows)} == {width}
    ends = [row[: head.index("vs ref") + len("vs ref")] for row in rows]
    # returns 117.3 and 123.3
    assert [end.split()[-1] for end in ends] == ["-4.9%", "ref", "-"]
    assert order_under_group(width, head.index("vs ref"), has_reference=True) == "return"


def test_runs_without_a_value_are_not_counted():
    first, *others = GROUP.rows
    bare = replace(first, status=replace(first.status, metrics={"episode/return": float("nan")}))
    (row,) = texts([draw_group(replace(GROUP, rows=(bare, *others)), 119, False, spread="error")])
    assert " 2/3 " in row
    assert "125.5 ± 75.50" in row  # of 201 and 50


def test_where_there_is_room_the_steps_of_the_shortest_and_the_longest_run_are_said():
    (row,) = texts([draw_group(GROUP, 119, False)])
    assert "100k to 200k" in row
    assert "▁" in row


def test_a_group_without_returns_names_its_main_metric():
    rows = [
        replace(
            row,
            status=replace(row.status, metrics={"train/loss": row.status.metrics["loss/value"]}),
        )
        for row in GROUP.rows
    ]
    (row,) = texts([draw_group(replace(GROUP, rows=tuple(rows)), 119, False, spread="range")])
    assert " train/loss " in row
    assert "0.3333 to 1.000" in row
    (head,) = texts([draw_group_head(119, main="metric")])
    assert (" metric " in head, "return" in head) == (True, False)


def test_columns_that_can_be_sorted_by_can_be_clicked():
    (head,) = texts([draw_group_head(119, "metric:loss/value")])
    found = {
        name: order_under_group(119, head.index(name), "metric:loss/value")
        for name in ("state", "return", "steps", "value↓", "group")
    }
    assert found == {
        "state": "state", "return": "return", "steps": "steps", "value↓": "metric:loss/value",
        "group": None,
    }  # fmt: skip


def test_a_curve_of_another_length_is_left_out_of_the_mean():
    first, *others = GROUP.rows
    short = replace(GROUP, rows=(replace(first, returns=first.returns[:5]), *others))
    without = replace(GROUP, rows=(replace(first, returns=()), *others))
    assert texts([draw_group(short, 119, False)]) == texts([draw_group(without, 119, False)])
