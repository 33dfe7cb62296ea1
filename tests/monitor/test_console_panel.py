"""The console pane: it follows, stands still, finds, folds, and goes with the charts' cursor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from screens import screen_text, shows, until
from views import NOON_NS, StillRun, make_view, training_curves

from operant.monitor.app import MonitorApp
from operant.monitor.session.settings import Settings
from operant.monitor.widgets.chart_grid import ChartGrid
from operant.monitor.widgets.console_panel import ConsolePanel
from operant.shared import History
from operant.shared.console.console_file import time_text, without_time

SECOND_NS = 10**9


def lines_of(num_lines: int, start: int = 0) -> tuple[str, ...]:
    """A line a second, from the run's beginning on."""
    return tuple(
        f"{time_text(NOON_NS + i * SECOND_NS)} line {i}." for i in range(start, start + num_lines)
    )


def a_row_a_second(num_rows: int = 200) -> History:
    columns = training_curves(num_rows)
    numbers = np.arange(1, num_rows + 1)
    walls = NOON_NS + numbers * SECOND_NS
    spans = np.ones(num_rows, np.int64)
    heads = [numbers, walls, numbers * SECOND_NS, numbers, numbers * 10, spans]
    return History(list(columns), np.stack(heads), [np.stack(list(columns.values()))[None]])


@pytest.fixture
def source():
    view = replace(make_view(), history=a_row_a_second(), console=lines_of(200))
    return StillRun(view)


@pytest.fixture
def app(source):
    settings = Settings(panes=("charts", "console"))
    return MonitorApp(source.run, run_source=lambda _: source, settings=settings)


def panel(app) -> ConsolePanel:
    return app.screen.query_one(ConsolePanel)


def selected(app) -> str:
    return without_time(panel(app).selected)


async def test_it_follows_what_comes_and_stands_still_for_a_reader(app, source):
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, shows(pilot, "line 199."))
        panel(app).focus()
        source.view = replace(source.view, console=lines_of(250))
        await until(pilot, shows(pilot, "line 249."))
        await pilot.press("pageup")
        assert "line 249." not in screen_text(app)
        last = max(i for i in range(250) if f"line {i}." in screen_text(app))
        source.view = replace(source.view, console=lines_of(250, start=50))
        await until(pilot, lambda: len(panel(app).found()) == 250)
        await until(pilot, shows(pilot, f"line {last}.", "newer below"))
        assert f"line {last + 1}." not in screen_text(app)
        await pilot.press("end")
        await until(pilot, shows(pilot, "line 299."))


async def test_the_selected_line_and_the_cursor_of_the_charts_go_together(app):
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, shows(pilot, "line 199."))
        grid = app.screen.query_one(ChartGrid)
        panel(app).focus()
        await pilot.press("comma")
        assert selected(app) == "line 199."
        await until(pilot, lambda: grid.options.cursor == 1990)  # the row of second 199
        await pilot.press("comma", "comma")
        await until(pilot, lambda: grid.options.cursor == 1970)
        assert selected(app) == "line 197."
        await pilot.press("full_stop")
        await until(pilot, lambda: grid.options.cursor == 1980)
        assert selected(app) == "line 198."
        grid.options = replace(grid.options, cursor=None)
        await until(pilot, lambda: selected(app) == "")
        grid.focus()
        grid.options = replace(grid.options, cursor=505.0)
        await until(pilot, shows(pilot, "line 50."))
        assert selected(app) == "line 50."
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: grid.options.cursor > 600)
        row = int(grid.options.cursor / 10)  # of that second
        await until(pilot, lambda: selected(app) == f"line {row}.")
        await pilot.click(ConsolePanel, offset=(12, 2))
        await until(pilot, lambda: selected(app) not in ("", f"line {row}."))
        at = selected(app)
        await pilot.resize_terminal(100, 22)
        await until(pilot, lambda: panel(app).size.height < 10)
        await until(pilot, shows(pilot, at))


async def test_it_stands_still_where_the_last_line_is_a_bar_that_moves(app, source):
    bar = [f"{time_text(NOON_NS + i * SECOND_NS)} {i}%|#####" for i in range(200, 300)]
    source.view = replace(source.view, console=(*lines_of(200), bar[0]))
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, shows(pilot, "200%|"))
        panel(app).focus()
        await pilot.press("comma", "comma")
        for i in (1, 2, 50):
            source.view = replace(source.view, console=(*lines_of(200 + i), bar[i]))
            await until(pilot, lambda i=i: len(panel(app).found()) == 201 + i)
        assert selected(app) == "line 199."
        assert "line 199." in screen_text(app)


async def test_a_replay_has_its_moment_and_what_was_found_is_shown_among_the_others(app):
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, shows(pilot, "line 199."))
        # In a replay it is the console of that moment.
        await pilot.press("r", "pageup", "pageup")
        await until(pilot, shows(pilot, "in the past", "line 160."))
        assert "line 199." not in screen_text(app)
        await pilot.press("end")
        await until(pilot, shows(pilot, "line 199."))
        panel(app).focus()
        await pilot.press("slash", *"LINE 143", "enter")
        await until(pilot, shows(pilot, "/LINE 143: 1 line ", "line 143."))
        assert "line 144." not in screen_text(app)
        await pilot.press("comma", "escape")
        await until(pilot, shows(pilot, "line 143.", "line 144.", "newer below"))


async def test_tracebacks_fold_and_long_lines_wrap(app, source):
    texts = ("Traceback (most recent call last):", '  File "x.py"', "ValueError: no", "y" * 200)
    console = tuple(f"{time_text(NOON_NS)} {text}" for text in texts)
    source.view = replace(source.view, console=console)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, shows(pilot, "▸ ValueError: no  (traceback, 3 lines)"))
        assert "x.py" not in screen_text(app)
        assert screen_text(app).count("y") < 150
        panel(app).focus()
        await pilot.press("f")
        await until(pilot, shows(pilot, 'File "x.py"'))
        await pilot.press("w")
        await until(pilot, lambda: screen_text(app).count("yyyyyyyyyy") > 2)
        assert screen_text(app).count("y") >= 200
        source.view = replace(source.view, console=())
        await until(pilot, shows(pilot, "nothing printed, or not kept"))
        await pilot.press("comma", "full_stop", "pageup", "end", "w", "f")
        assert selected(app) == ""
