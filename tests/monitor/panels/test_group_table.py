"""The list of groups keeps its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from groups import ROWS
from views import texts

from operant.monitor.panels.group_table import group_columns
from operant.monitor.render.columns import draw_head, draw_row, fit_columns, order_at
from operant.monitor.runs.list.run_groups import NAME, RunGrouper

GROUP, OTHER = RunGrouper().groups(ROWS, NAME)
UNREAD = replace(GROUP, rows=tuple(replace(row, status=None) for row in GROUP.rows))
WIDTHS = [57, 77, 117, 197]  # of screens of 60 to 200 cells


def drawn(width, groups, order="newest", **columns):
    """The head and the rows as texts."""
    fitted = fit_columns(group_columns(order, **columns), width)
    return texts([draw_head(fitted, (order, False)), *(draw_row(fitted, g) for g in groups)])


@pytest.mark.parametrize("width", [37, *WIDTHS])
@pytest.mark.parametrize("order", ["newest", "return", "metric:loss/value"])
def test_every_row_is_as_wide_as_the_head(width, order):
    assert len({len(line) for line in drawn(width, [GROUP, UNREAD], order)}) == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_stand_under_their_names(width):
    head, row = drawn(width, [GROUP], spread="range")
    # returns 101, 201 and 50
    assert head.index("runs") + 4 == row.index(" 3 ") + 2
    assert head.index("return") + 6 == row.index("117.3") + 5
    assert head.index("min to max") == row.index("50.00 to 201.0")
    assert row.startswith("!1 ✓2 ")


@pytest.mark.parametrize("width", WIDTHS[1:])
def test_with_a_reference_each_group_has_its_distance_in_percent(width):
    head, *rows = drawn(width, [GROUP, OTHER, UNREAD], reference=OTHER)
    place = head.index("vs ref")
    # returns 117.3 and 123.3
    ends = [row[: place + len("vs ref")] for row in rows]
    assert [end.split()[-1] for end in ends] == ["-4.9%", "ref", "-"]
    assert order_at(fit_columns(group_columns(reference=OTHER), width), place) == "return"


def test_runs_without_a_value_are_not_counted():
    first, *others = GROUP.rows
    bare = replace(first, status=replace(first.status, metrics={"episode/return": float("nan")}))
    row = drawn(117, [replace(GROUP, rows=(bare, *others))], spread="error")[1]
    assert " 2/3 " in row
    assert "125.5 ± 75.50" in row  # of 201 and 50


def test_if_there_is_room_the_steps_of_the_shortest_and_the_longest_run_are_said():
    row = drawn(117, [GROUP])[1]
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
    group = replace(GROUP, rows=tuple(rows))
    head, row = drawn(117, [group], spread="range", main="metric")
    assert " train/loss " in row
    assert "0.3333 to 1.000" in row
    assert (" metric " in head, "return" in head) == (True, False)


def test_columns_that_can_be_sorted_by_can_be_clicked():
    order = "metric:loss/value"
    (head,) = drawn(117, [], order)
    fitted = fit_columns(group_columns(order), 117)
    names = ("state", "return", "steps", "loss/value↓", "group")
    found = {name: order_at(fitted, head.index(name)) for name in names}
    assert found == {
        "state": "state", "return": "return", "steps": "steps", "loss/value↓": order, "group": "",
    }  # fmt: skip


def test_a_curve_of_another_length_is_left_out_of_the_mean():
    first, *others = GROUP.rows
    short = replace(GROUP, rows=(replace(first, returns=first.returns[:5]), *others))
    without = replace(GROUP, rows=(replace(first, returns=()), *others))
    assert drawn(117, [short]) == drawn(117, [without])
