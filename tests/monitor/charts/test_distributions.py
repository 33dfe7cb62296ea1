"""Five quantiles of one name are one chart, with heat where the values are."""

from __future__ import annotations

import numpy as np
from views import make_history, texts

from operant.monitor.charts.chart import draw_chart
from operant.monitor.charts.choice import chart_of, charted
from operant.monitor.charts.options import ChartOptions
from operant.monitor.charts.seeds import seeds_view
from operant.monitor.charts.shown_run import Look, ShownRun, Watched, shown_run
from operant.monitor.render.canvas import Canvas
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import Metric
from operant.shared.page.schema import QUANTILES
from operant.shared.runs.status import RunStatus

PERCENTS = tuple(QUANTILES.values())


def view_of(
    num_rows: int = 4, gap_at: int | None = None, values=(0.0, 4.0, 5.0, 6.0, 10.0)
) -> RunView:
    """A run whose distribution `w` has the same quantiles, `values`, in every row but one."""
    columns = {f"w/p{p:02d}": np.full(num_rows, v) for p, v in zip(PERCENTS, values, strict=True)}
    for column in columns.values():
        if gap_at is not None:
            column[gap_at] = np.inf
    columns["loss"] = np.ones(num_rows)
    metrics = {name: float(column[-1]) for name, column in columns.items()}
    status = RunStatus("run", "finished", metrics=metrics)
    return RunView(status, make_history(columns), tuple(map(Metric, columns)), publish=num_rows)


def shown(view: RunView, look: Look | None = None) -> ShownRun:
    return shown_run(Watched(view, look), "iterations", view, None)


def drawn(view: RunView, height: int = 12, options: ChartOptions | None = None) -> list[str]:
    (metric,) = (m for m in charted([view.schema]) if m.name.startswith("w/"))
    chart = chart_of(metric, [shown(view)], options or ChartOptions(), (1.0, float(view.publish)))
    return texts(draw_chart(chart, 40, height))


def test_the_quantiles_of_a_name_are_one_chart_and_a_filter_finds_a_single_one():
    schema = view_of().schema
    assert [metric.name for metric in charted([schema])] == ["w/p50", "loss"]
    assert [metric.name for metric in charted([schema], ("p95",))] == ["w/p95"]
    # Not all five of them are no distribution.
    assert [metric.name for metric in charted([schema[1:]])] == [m.name for m in schema[1:]]


def test_the_title_is_the_name_with_the_median():
    title = drawn(view_of())[0]
    assert title.startswith("╭ w ")
    assert "5.000 median" in title


def test_the_shades_follow_the_share_of_the_values():
    # Of 0 to 10 half lies between 4 and 6: those cells are full, all others in the range are not.
    columns = [line[10] for line in drawn(view_of(), height=24)[1:-1]]
    inside = [cell for cell in columns if cell in "░▒▓█" or "⠀" < cell <= "⣿"]
    assert len(inside) > 15
    middle = len(inside) // 2
    assert set(inside[middle - 1 : middle + 2]) <= {"█", *map(chr, range(0x2801, 0x2900))}
    assert {inside[1], inside[-2]} <= set("░▒▓")


def test_where_all_values_are_the_same_one_row_is_full():
    lines = drawn(view_of(values=(3.0,) * 5))[1:-1]
    with_heat = [line for line in lines if any(cell in line for cell in "░▒▓█")]
    assert len(with_heat) <= 1


def test_no_heat_is_drawn_where_infinity_was_logged():
    whole, broken = ("".join(drawn(view_of(41, gap))[1:-1]) for gap in (None, 20))
    assert sum(map(broken.count, "░▒▓█")) < sum(map(whole.count, "░▒▓█"))


def test_a_logarithmic_axis_leaves_out_quantiles_below_zero():
    options = ChartOptions().with_log_toggled("y", "w/p50")
    lines = drawn(view_of(values=(-1.0, -0.5, 10.0, 100.0, 1000.0)), options=options)
    assert "w log y" in lines[0]
    assert any(cell in "".join(lines) for cell in "▓█")


def test_several_runs_and_groups_of_them_show_medians():
    first, second = view_of(), view_of(values=(0.0, 1.0, 2.0, 3.0, 4.0))
    metric = charted([first.schema])[0]
    runs = [shown(first, Look(0)), shown(second, Look(1))]
    chart = chart_of(metric, runs, ChartOptions(), (1.0, 4.0))
    assert [trace.curve.mean[0] for trace in chart.traces] == [5.0, 2.0]
    assert {trace.percent for trace in chart.traces} == {None}
    group = seeds_view("both", [first, second], "quartiles")
    chart = chart_of(metric, [shown(group)], ChartOptions(), (1.0, 4.0))
    assert (chart.value, chart.count) == ("3.500", "2 of 2 runs")


def test_a_chart_with_room_lists_the_quantiles_at_the_cursor():
    view = view_of(40)
    metric = charted([view.schema])[0]
    chart = chart_of(metric, [shown(view)], ChartOptions(cursor=20.0), (1.0, 40.0))
    words = " ".join(" ".join(texts(draw_chart(chart, 100, 20))).split())
    for percent, value in zip(PERCENTS, ("0", "4.000", "5.000", "6.000", "10.00"), strict=True):
        assert f"{percent}% {value}" in words


def test_the_cursor_is_seen_through_the_heat():
    lines = drawn(view_of(41), options=ChartOptions(cursor=20.0))[1:-1]
    assert all("│" in line[8:-2] for line in lines if "█" in line)


def test_shades_of_a_canvas_keep_what_is_under_level_zero():
    canvas = Canvas(3, 1)
    canvas.draw_text(0, 0, "abc", "text")
    canvas.draw_heat(1, np.array([[0, 8]]), "series2")
    assert canvas.lines() == [[("ab", "text"), ("█", "series2_heat8")]]


def test_a_blank_cell_does_not_go_on_with_the_shade_before_it():
    canvas = Canvas(2, 1)
    canvas.draw_heat(0, np.array([[8]]), "series2")
    assert canvas.lines() == [[("█", "series2_heat8"), (" ", "")]]
