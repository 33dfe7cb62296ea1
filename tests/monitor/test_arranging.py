"""Groups, pins, hidden charts, and what can be clicked, as people use them."""

from __future__ import annotations

from dataclasses import replace

from apps import watching
from screens import screen_text, shows, until
from views import StillRun, make_history, make_view, training_curves

from operant.monitor.app import MonitorApp
from operant.monitor.charts.grid_shape import MIN_WIDTH
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.widgets.chart_grid import ChartGrid
from operant.monitor.widgets.events_panel import EventsPanel
from operant.monitor.widgets.key_line import KeyLine
from operant.shared import Metric


def many_metrics():
    """A run of forty metrics more, in two groups."""
    view = make_view()
    names = [f"{'xy'[i % 2]}/m{i}" for i in range(40)]
    columns = training_curves(200)
    history = make_history(columns | dict.fromkeys(names, columns["loss/value"]))
    return replace(view, history=history, schema=(*view.schema, *(Metric(name) for name in names)))


async def test_groups_are_jumped_to_and_collapsed():
    app = watching(many_metrics())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "▾ episode", "▾ loss"))
        grid = app.screen.query_one(ChartGrid)
        await pilot.press("right_square_bracket")
        assert grid.selected_chart == "loss/policy"
        await pilot.press("c")
        await until(pilot, shows(pilot, "▸ loss"))
        assert "loss/policy" not in screen_text(app)
        await pilot.press("enter")
        await until(pilot, shows(pilot, "▾ loss", "loss/policy"))


async def test_charts_are_hidden_pinned_and_remembered(tmp_path):
    source = StillRun(make_view())
    for is_first in (True, False):
        app = MonitorApp(
            source.run, run_source=lambda _: source, settings_path=tmp_path / "monitor.toml"
        )
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, shows(pilot, "loss/value"))
            grid = app.screen.query_one(ChartGrid)
            if is_first:
                await pilot.press("H", "P")
            await until(pilot, shows(pilot, "▸ 1 hidden"))
            assert [metric.name for metric in grid.board.metrics][:2] == [
                "loss/policy",
                "loss/value",
            ]
            assert "loss/policy pinned" in screen_text(app)
            if not is_first:
                await pilot.press("0")
                await until(pilot, lambda app=app: "▸ 1 hidden" not in screen_text(app))
                assert "episode/return" in [metric.name for metric in grid.board.metrics]


async def test_charts_are_searched_and_stand_in_as_many_columns_as_m_says():
    app = watching()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "loss/value"))
        grid = app.screen.query_one(ChartGrid)
        await pilot.press("slash", *"/loss/")
        assert {metric.group for metric in grid.board.metrics} == {"loss"}
        await pilot.press(*" /(/")
        await until(pilot, shows(pilot, "is no regular expression"))
        await pilot.press("enter")
        assert not grid.has_focus
        await pilot.press(*["backspace"] * 4, "enter")
        assert grid.has_focus
        await pilot.press("escape")
        assert len(grid.board.metrics) == 7
        assert isinstance(app.screen, RunScreen)
        before = grid.layout_of_charts().columns
        await pilot.press("m")
        assert grid.layout_of_charts().columns == before + 1
        while grid.layout_of_charts().columns > before:
            most = grid.layout_of_charts().columns
            await pilot.press("m")
        assert grid.layout_of_charts().columns == 1
        assert most == 120 // MIN_WIDTH
        await pilot.press("end")
        assert grid.selected == 6
        await pilot.press("home", "down", "up")
        assert grid.selected == 0


async def test_the_last_row_says_what_keys_do_in_an_enlarged_pane():
    app = watching(make_view())
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "enter enlarge", "esc all runs"))
        await pilot.press("enter")
        await until(pilot, shows(pilot, "enter shrink", "esc back"))
        await pilot.press("escape")
        await until(pilot, shows(pilot, "enter enlarge", "esc all runs"))


async def test_keys_and_events_can_be_clicked():
    view = make_view()
    happened = replace(view.events[0], text="it happened", env_steps=2048 * 50)
    app = watching(replace(view, events=(happened,)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "it happened"))
        grid, keys = app.screen.query_one(ChartGrid), app.screen.query_one(KeyLine)
        at = screen_text(app).splitlines()[-1].index("z zoom")
        await pilot.click(KeyLine, offset=(at + 3, 0))
        await until(pilot, lambda: grid.options.window.width is not None)
        assert keys
        await pilot.click(EventsPanel, offset=(15, 1))
        await until(pilot, lambda: grid.options.cursor == 2048 * 50)
        low, high = grid.options.window.shown(grid.board.whole)
        assert low <= 2048 * 50 <= high
        former = grid.options.x_count
        await pilot.press("a")  # the keys of the last row are those of charts
        await until(pilot, lambda: grid.options.x_count != former)
