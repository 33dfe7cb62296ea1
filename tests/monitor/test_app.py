"""The monitor as people use it: keys, screens, and runs that change while they are watched."""

from __future__ import annotations

from dataclasses import replace

import pytest
from apps import choosing, grouping, watching
from command_line import python
from screens import notifies, screen_text, shows, until
from textual import events
from views import (
    SAMPLES,
    StillRun,
    StillRuns,
    all_states,
    make_row,
    make_view,
    silent_view,
)

from operant.monitor import app as app_module
from operant.monitor.app import MonitorApp
from operant.monitor.charts.options import ChartOptions
from operant.monitor.charts.shown_run import Watched
from operant.monitor.charts.x_axis import XWindow
from operant.monitor.render.palette import THEMES
from operant.monitor.runs.list.runs_poller import Machine, RunsView
from operant.monitor.runs.machine.gpu_load import NUM_SAMPLES
from operant.monitor.runs.machine.tuning_advice import MORE_ENVS, Knobs
from operant.monitor.runs.reading.alerts import Alert
from operant.monitor.runs.reading.run_source import Looked
from operant.monitor.screens.help_screen import HelpScreen
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.screens.runs_screen import RunsScreen
from operant.monitor.session.settings import Settings
from operant.monitor.widgets.chart_grid import ChartGrid
from operant.monitor.widgets.drawing import Drawing
from operant.monitor.widgets.events_panel import EventsPanel
from operant.monitor.widgets.pane import Pane
from operant.monitor.widgets.runs_table import RunsTable
from operant.monitor.widgets.time_panel import TimePanel
from operant.shared.runs.run_folder import Run


@pytest.mark.pilot
async def test_a_run_shows_its_charts_and_keys_walk_among_them():
    app = watching()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "● running", "1.23M", "60.0%", "1m 20s left"))
        text = screen_text(app)
        for words in ("episode/return", "loss/policy", "speed/env_steps_per_s", "the disk is"):
            assert words in text
        grid = app.screen.query_one(ChartGrid)
        for key, selected in [("right", 1), ("down", 3), ("left", 2), ("up", 0), ("left", 0)]:
            await pilot.press(key)
            assert grid.selected == selected
        await pilot.press("right", "down", "down", "down", "down")  # the last row is short
        assert grid.selected == len(grid.board.metrics) - 1 == 6
        await until(pilot, shows(pilot, "policy/approx_kl"))
        assert "episode/return" not in screen_text(app)
        await pilot.press("home", "enter")
        await until(pilot, lambda: "loss/policy" not in screen_text(app))
        assert "where the time goes" not in screen_text(app)
        await pilot.press("right")
        await until(pilot, shows(pilot, "loss/policy"))
        assert "episode/return" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, shows(pilot, "episode/return", "where the time goes"))
        focused = []
        for _ in range(3):
            focused.append(type(app.focused))
            await pilot.press("tab")
        assert focused == [ChartGrid, TimePanel, EventsPanel]
        assert isinstance(app.focused, ChartGrid)
        await pilot.press("shift+tab")
        assert isinstance(app.focused, EventsPanel)


async def test_clicks_select_and_enlarge():
    app = watching()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        grid = app.screen.query_one(ChartGrid)
        # The second click on the run in the list enlarges no chart.
        grid.post_message(events.Click(grid, 5, 2, 0, 0, 1, False, False, False, 5, 2, chain=2))
        await pilot.pause()
        assert not grid.is_enlarged
        await pilot.click(ChartGrid, offset=(50, 9))
        assert grid.selected == 3
        await pilot.click(ChartGrid, offset=(5, 2), times=2)
        assert grid.selected == 0
        assert grid.is_enlarged


@pytest.mark.pilot
async def test_a_failed_run_opens_with_its_traceback_first():
    view = make_view("failed", "ValueError: no")
    traceback = "Traceback (most recent call last):\n  File 'loop.py', line 42\nValueError: no"
    app = watching(replace(view, events=(replace(view.events[0], level="error", text=traceback),)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "! failed", "File 'loop.py', line 42"))
        assert "loss/policy" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, shows(pilot, "✗ ValueError: no", "loss/policy"))


async def test_events_scroll_back_and_follow_again_at_the_end():
    view = make_view()
    many = tuple(replace(view.events[0], number=i, text=f"event {i}.") for i in range(1, 60))
    source = StillRun(replace(view, events=many[:49]))
    app = MonitorApp(source.run, run_source=lambda _: source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "event 49."))
        await pilot.press("tab", "tab", "up", "up")
        await until(pilot, lambda: "event 48." not in screen_text(app))
        source.view = replace(view, events=many)
        await until(pilot, shows(pilot, "12 newer below"))
        assert "event 47." in screen_text(app)  # what is being read stands still
        await pilot.press("home")
        await until(pilot, shows(pilot, "event 1."))
        await pilot.press("end")
        await until(pilot, shows(pilot, "event 59."))


STATES = [
    (make_view(), ["● running"]),
    (make_view("stalled", age_s=75.0), ["◐ stalled", "published nothing for 1m 15s"]),
    (make_view("crashed", "ended without saying why"), ["✗ crashed", "without saying why"]),
    (make_view("finished"), ["✓ finished", "ran 20s"]),
    (make_view("stopped", "Ctrl-C"), ["■ stopped", "Ctrl-C"]),
    (silent_view(), ["◌ starting", "waiting for its page"]),
    (silent_view("starting", True), ["◌ starting", "waiting for its first numbers"]),
    (silent_view("/p: not an operant page", True), ["● running", "not an operant page"]),
    (make_view(num_rows=300), ["● running", "iteration 300"]),
]


async def test_every_state_is_said_as_it_comes_and_the_screen_stays_usable():
    source = StillRun(make_view())
    app = MonitorApp(source.run, run_source=lambda _: source)
    async with app.run_test(size=(80, 24)) as pilot:
        for source.view, words in STATES:
            await until(pilot, shows(pilot, *words))
            is_well = source.view.status.state in ("running", "finished") and source.view.publish
            assert app.screen.query_one("#notice").display != bool(is_well)
            await pilot.press("tab", "enter", "escape", "right", "enter", "escape")
            await pilot.press("question_mark")
            await until(pilot, shows(pilot, "everywhere"))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, RunScreen))


@pytest.mark.pilot
async def test_a_real_run_is_watched_from_start_to_end(make_session):
    session = make_session()
    app = MonitorApp(session.run)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "◌ starting"))
        for number in range(1, 50):
            session.metrics.publish({"loss": 1 / number, "[bold]x[/]\x1b[2J": 1.0}, number, number)
        session.metrics.event("info", "a [red]message[/red]\x07")
        await until(pilot, shows(pilot, "● running", "loss", "[bold]x[/]", "a [red]message[/red]"))
        assert "\x1b" not in screen_text(app)
        session.close("finished", 0, "all done")
        await until(pilot, shows(pilot, "✓ finished", "all done"))


@pytest.mark.pilot
async def test_the_list_and_its_runs_lead_to_each_other():
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "7 runs", "✗ crashed", "! failed", "◌ starting"))
        table = app.screen.query_one("#runs")
        await pilot.press("down", "down", "down", "up")
        assert table.selected == all_states().rows[2].run
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await until(pilot, shows(pilot, "episode/return"))
        screen = app.screen
        # Textual keeps the caches of widgets that are gone: a day of looks would fill them.
        drawings = list(screen.query(Drawing))
        assert any(drawing._styles_cache._cache for drawing in drawings)
        await pilot.press("backspace")
        await until(pilot, lambda: not screen.is_running)
        assert not any(drawing._styles_cache._cache for drawing in [*drawings, screen])
        assert isinstance(app.screen, RunsScreen)
        assert table.selected == all_states().rows[2].run
        await until(pilot, lambda: app._run_source(None).is_closed)
        await pilot.press("p", "down", "space", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        await until(pilot, lambda: len(app.screen.query_one(ChartGrid).board.runs) == 3)
        runs = app.screen.query_one(ChartGrid).board.runs
        assert [run.is_reference for run in runs] == [False, True, False]
        assert len({run.look for run in runs}) == 3


async def test_escape_in_the_list_drops_the_filter_and_then_the_marks():
    app = watching()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("escape")
        await until(pilot, shows(pilot, "7 runs", "✗ crashed"))
        await pilot.press("slash", *"crashed", "enter", "space")
        chosen = app.screen.session.comparison.chosen
        assert len(chosen) == 1
        await pilot.press("escape")
        await until(pilot, shows(pilot, "7 runs", "! failed"))
        assert app.screen.session.comparison.chosen == chosen
        await pilot.press("escape")
        assert not app.screen.session.comparison.chosen
        await pilot.press("escape")
        assert isinstance(app.screen, RunsScreen)


async def test_the_list_follows_runs_and_machines_that_come_and_go():
    rows = all_states().rows
    source = StillRuns(RunsView(rows[2:], True))
    app = MonitorApp(runs_source=source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "5 runs"))
        await pilot.press("down")
        table = app.screen.query_one("#runs")
        source.view = RunsView(rows, True)
        await until(pilot, shows(pilot, "7 runs"))
        assert table.selected == rows[3].run
        source.view = RunsView((*rows[:3], *rows[4:]), True)
        await until(pilot, shows(pilot, "6 runs"))
        assert table.selected == rows[4].run  # the one that now stands in its place
        there = tuple(replace(row, host="a") for row in rows)
        silent = Machine("b", "cannot reach b: refused; trying again")
        source.view = RunsView(there, True, machines=(Machine("a"), silent))
        await until(pilot, shows(pilot, "▲ b: cannot reach b: refused; trying again", "machine"))
        source.view = RunsView(there, True, machines=(Machine("a"), Machine("b")))
        await until(pilot, lambda: "refused" not in screen_text(app))


@pytest.mark.pilot
async def test_no_runs_yet_is_said_in_plain_words_until_there_is_one(make_session):
    app = MonitorApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "There are no runs yet.", "operant train"))
        await pilot.press("down", "enter", "escape")
        assert isinstance(app.screen, RunsScreen)
        make_session("fresh")
        await until(pilot, shows(pilot, "fresh", "1 run"))


@pytest.mark.pilot
async def test_q_quits_from_everywhere():
    for keys in (["q"], ["question_mark", "ctrl+c"]):
        app = watching()
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, shows(pilot, "episode/return"))
            await pilot.press(*keys)
            await until(pilot, lambda app=app: not app.is_running)
        assert app.return_code == 0


async def test_it_draws_at_every_size_and_after_resizing():
    app = watching(make_view("stalled", age_s=30.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        for size in [(200, 60), (60, 18), (40, 12), (20, 6), (5, 3)]:
            await pilot.resize_terminal(*size)
            await until(pilot, lambda size=size: app.size == size)
            lines = screen_text(app).split("\n")
            assert {len(line) for line in lines} == {size[0]}
            if size[0] >= 40:
                assert "q quit" in lines[-1]
                assert "stalled" in lines[0]


@pytest.mark.parametrize("size", [(1000, 1), (20, 3)])
@pytest.mark.parametrize("make_app", [watching, choosing, grouping])
async def test_it_starts_in_a_terminal_without_room(make_app, size):
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.screen.query(ChartGrid) or app.screen.query(RunsTable))
        if make_app is watching:
            await until(pilot, lambda: app.screen.query_one(ChartGrid).board.metrics)
        before = app.screen
        for keys in (["end", "z", "c"], ["question_mark"], ["slash", "a", "escape"], ["ctrl+p"]):
            await pilot.press(*keys)
            lines = screen_text(app).split("\n")
            assert (len(lines), {len(line) for line in lines}) == (size[1], {size[0]})
            if app.screen is not before:
                await pilot.press("escape")
                await until(pilot, lambda: app.screen is before)


def test_the_monitor_needs_none_of_the_trainers_libraries():
    code = (
        "import sys, operant.monitor.app\n"
        "heavy = {'torch', 'numba', 'pydantic', 'pandas', 'gymnasium', 'optuna',"
        " 'operant.trainer'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


async def test_charts_are_zoomed_by_keys_and_by_the_mouse_and_0_undoes_it():
    app = watching()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return", "488.1"))
        grid = app.screen.query_one(ChartGrid)
        await pilot.press("z", "z", "s", "comma", "less_than_sign", "y")
        await until(
            pilot, shows(pilot, "zoomed, following", "smoothed 0.2%", "episode/return log y")
        )
        assert "488.1" not in screen_text(app).partition("episode/return")[2].partition("\n")[0]
        await pilot.press("0")
        await until(pilot, lambda: "zoomed" not in screen_text(app))
        # A drag shows what it selects while it goes on, and then that part.
        await pilot.mouse_down(ChartGrid, offset=(12, 4))
        assert "░" not in screen_text(app)
        await pilot.hover(ChartGrid, offset=(24, 4))
        await until(pilot, shows(pilot, "░░░░"))
        await pilot.mouse_up(ChartGrid, offset=(24, 4))
        await until(pilot, lambda: "░" not in screen_text(app))
        low, high = grid.options.window.shown(grid.board.whole)
        assert 0 < low < high < grid.board.whole[1]
        await pilot.press("0")
        await pilot.click(ChartGrid, offset=(20, 4))
        assert low < grid.options.cursor < high
        # A drag moves a zoomed part, and a double click shows all again.
        await pilot.press("0", "z", "z")
        low, high = grid.options.window.shown(grid.board.whole)
        await pilot.mouse_down(ChartGrid, offset=(12, 4))
        await pilot.hover(ChartGrid, offset=(24, 4))
        await pilot.mouse_up(ChartGrid, offset=(24, 4))
        moved_low, moved_high = grid.options.window.shown(grid.board.whole)
        assert moved_high < high
        assert moved_high - moved_low == pytest.approx(high - low)
        await pilot.click(ChartGrid, offset=(20, 4), times=2)
        assert grid.options.window == XWindow()
        assert not grid.is_enlarged
        # The wheel zooms at the mouse on an enlarged chart alone.
        wheel = events.MouseScrollUp(grid, 60, 10, 0, 0, 0, False, False, False)
        grid.on_mouse_scroll_up(wheel)
        assert grid.options.window == XWindow()
        await pilot.press("enter")
        grid.on_mouse_scroll_up(wheel)
        low, high = grid.options.window.shown(grid.board.whole)
        assert grid.board.whole[0] < low < high < grid.board.whole[1]


async def test_0_undoes_what_was_done_to_charts_then_to_panes_wherever_the_keys_go():
    app = watching()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return", "events"))
        grid = app.screen.query_one(ChartGrid)
        await pilot.press("d")
        await until(pilot, notifies(app, "there is no reference"))
        assert not grid.options.shows_difference
        await pilot.press("z", "s", "y", "f", "3", "3", "tab")
        assert grid.options.log_y == grid.options.full_y == {"episode/return"}
        assert not app.screen.query_one(EventsPanel).display
        await pilot.press("0")
        assert grid.options == ChartOptions()
        assert not app.screen.query_one(EventsPanel).display
        await pilot.press("enter", "0")
        assert not any(pane.is_enlarged for pane in app.screen.query(Pane))
        assert app.session.settings.panes == Settings().panes
        assert app.screen.query_one(EventsPanel).display


async def test_more_runs_than_are_drawn_are_said():
    rows = tuple(make_row(f"run-{i}", "running") for i in range(12))

    def source_of(run: Run) -> StillRun:
        view = make_view()
        return StillRun(replace(view, status=replace(view.status, run=run.id)))

    app = MonitorApp(run_source=source_of, runs_source=StillRuns(RunsView(rows, is_complete=True)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "12 runs"))
        for _ in range(9):
            await pilot.press("space", "down")
        await until(pilot, shows(pilot, "9 runs are chosen, 8 at most are drawn together"))
        await pilot.press("p", "enter")
        await until(pilot, shows(pilot, "+2 not drawn: 8 at most", " ref"))
        screen = app.screen
        assert isinstance(screen, RunScreen)
        assert screen._looked.watched[0].is_reference
        await pilot.resize_terminal(60, 20)
        await until(pilot, shows(pilot, "+2 not drawn", "more"))


@pytest.mark.pilot
async def test_slash_finds_charts_and_lines_of_events():
    app = watching()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "loss/policy", "the disk"))
        await pilot.press("slash", *"POLICY", "enter")
        await until(pilot, lambda: "episode/return" not in screen_text(app))
        assert "loss/policy" in screen_text(app)
        await pilot.press("slash", "escape")
        await until(pilot, shows(pilot, "episode/return"))
        app.screen.query_one(EventsPanel).focus()
        await pilot.press("slash", *"disk", "enter")
        await until(pilot, lambda: "training starts" not in screen_text(app))
        assert "the disk is" in screen_text(app)


@pytest.mark.pilot
async def test_a_digit_goes_to_its_pane_there_it_hides_it_and_the_choice_is_kept(tmp_path):
    path = tmp_path / "monitor.toml"
    source = StillRun(replace(make_view(), console=("12:00:00.000 printed",)))

    def shown():
        panes = [str(pane.id) for pane in app.screen.query(Pane) if pane.display]
        return panes, str(app.focused.id)

    app = MonitorApp(source.run, run_source=lambda _: source, settings_path=path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return", "where the time"))
        await pilot.press("1")
        await until(pilot, lambda: shown() == (["time", "events"], "time"))
        await pilot.press("1")
        await until(pilot, lambda: shown() == (["charts", "time", "events"], "charts"))
        await pilot.press("5")  # had no room
        await until(pilot, lambda: shown() == (["charts", "events", "console"], "console"))
        await pilot.press("enter", "3")  # an enlarged pane makes way
        await until(pilot, lambda: shown() == (["charts", "events", "console"], "events"))
        await pilot.press("3", "5", "5", "1")
        await until(pilot, lambda: shown() == (["time"], "time"))
        await pilot.press("2")
        await until(pilot, lambda: shown() == (["charts"], "charts"))
        await pilot.press("1")
        await until(pilot, notifies(app, "one pane always stays"))
    app = MonitorApp(source.run, run_source=lambda _: source, settings_path=path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        assert shown()[0] == ["charts"]


async def test_a_digit_of_a_pane_that_cannot_be_shown_says_why():
    source = StillRun(make_view())
    app = MonitorApp(source.run, run_source=lambda _: source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("7")
        await until(pilot, notifies(app, "media: nothing to show"))
        await pilot.resize_terminal(80, 12)
        await pilot.press("5")
        await until(pilot, notifies(app, "console: no room below the charts"))


async def test_the_last_row_has_the_keys_of_the_pane_that_has_the_focus():
    source = StillRun(make_view())
    app = MonitorApp(source.run, run_source=lambda _: source)
    async with app.run_test(size=(160, 40)) as pilot:
        await until(pilot, shows(pilot, "z zoom", "s smooth"))
        await pilot.press("5")
        await until(pilot, shows(pilot, "w wrap", "f fold"))
        assert "z zoom" not in screen_text(app)


async def test_space_holds_the_screen_still_and_goes_on():
    source = StillRun(make_view(num_rows=100))
    app = MonitorApp(source.run, run_source=lambda _: source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "iteration 100"))
        await pilot.press("space")
        source.view = make_view(num_rows=150)
        await until(pilot, lambda: app.screen._looked.view.status.iteration == 150)
        assert "iteration 100" in screen_text(app)
        await pilot.press("space")
        await until(pilot, shows(pilot, "iteration 150"))


async def test_a_gpu_that_waits_makes_a_hint_and_the_past_has_none():
    view = make_view()
    status = replace(view.status, phase="collecting")
    app = watching(replace(view, status=status, knobs=Knobs(is_on_gpu=True, idle_gpu=MORE_ENVS)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "● "))
        (half_busy,) = (s for s in SAMPLES if s.gpus[0].utilization_fraction == 0.5)
        for _ in range(NUM_SAMPLES + 1):
            assert MORE_ENVS not in screen_text(app)
            app.screen.post_message(RunScreen.MachineSampled(half_busy))
        await until(pilot, shows(pilot, MORE_ENVS))
        await pilot.press("r", "home")
        await until(pilot, shows(pilot, "in the past"))
        assert MORE_ENVS not in screen_text(app)


async def test_the_slider_goes_back_in_time_and_plays():
    app = watching(make_view("finished"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "replay", "iteration 200"))
        await pilot.press("r", "home")
        await until(pilot, shows(pilot, "iteration 1 ", "in the past"))
        await pilot.press("space")
        await until(pilot, lambda: "iteration 1 " not in screen_text(app))
        await pilot.press("end")
        await until(pilot, shows(pilot, "iteration 200"))


@pytest.mark.pilot
async def test_the_list_is_filtered_sorted_and_says_what_is_wrong():
    app = choosing()
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, shows(pilot, "7 runs"))
        await pilot.press("slash", *"state:crashed", "enter")
        await until(pilot, shows(pilot, "1 of 7 runs"))
        assert "stalled" not in screen_text(app)
        await pilot.press("slash", *"x:", "enter")
        # What was understood still holds, and what is wrong stays to be mended or dropped.
        await until(pilot, shows(pilot, "/ state:crashedx:", "is not a state"))
        assert "stalled" not in screen_text(app)
        await pilot.press("escape")
        await until(pilot, shows(pilot, "stalled"))
        await pilot.press("s", *"nothing")
        await until(pilot, shows(pilot, "nothing has a name like that"))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: "sort by" not in screen_text(app))
        assert app.session.settings.order == "newest"
        for arrow in "↓↑":
            await pilot.press("s", *"retu", "enter")
            await until(pilot, shows(pilot, f"return{arrow}"))
        await pilot.press("s", "down", "enter")  # after the next column come all others
        await until(pilot, lambda: app.session.settings.order == "newest")
        await pilot.click("#runs", offset=(45, 0))
        await until(pilot, lambda: app.session.settings.order != "newest")
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "filter by words and values" in titles
        assert not any(title.startswith(("select", "a page")) for title in titles)
        assert len(set(titles)) == len(titles)


async def test_requests_ask_first_and_no_is_the_easy_answer(monkeypatch):
    sent = []
    monkeypatch.setattr(app_module, "send_request", lambda run, request: sent.append(request))
    app = watching()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        for answer in ("n", "escape", "enter", "q"):
            await pilot.press("X")
            await until(pilot, shows(pilot, "sure?"))
            await pilot.press(answer)
            await until(pilot, lambda: "sure?" not in screen_text(app))
        assert sent == []
        await pilot.press("C")
        await until(pilot, shows(pilot, "sure?"))
        await pilot.press("y")
        await until(pilot, lambda: sent == ["checkpoint"])


async def test_readonly_has_no_key_for_requests(monkeypatch):
    source = StillRun(make_view())
    app = MonitorApp(source.run, run_source=lambda _: source, is_readonly=True)
    async with app.run_test(size=(80, 100)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("X", "C")
        await pilot.pause()
        assert isinstance(app.screen, RunScreen)
        await pilot.press("question_mark")
        await until(pilot, shows(pilot, "everywhere"))
        assert "ask the trainer" not in screen_text(app)


async def test_the_list_of_keys_goes_by_pages_and_is_searched_by_what_is_typed():
    app = watching()
    async with app.run_test(size=(60, 18)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("question_mark")
        await until(pilot, shows(pilot, "↓ for more"))
        top = screen_text(app)
        await pilot.press("pagedown")
        await until(pilot, lambda: screen_text(app) != top)
        await pilot.press("pageup")
        await until(pilot, lambda: screen_text(app) == top)
        await pilot.press(*"smooth")
        await until(pilot, shows(pilot, "smooth more, and not at all"))
        assert "quit" not in screen_text(app)
        await pilot.press("x", "x")
        await until(pilot, shows(pilot, "nothing found"))
        await pilot.press("question_mark")
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen))


async def test_the_bell_rings_at_new_alerts_only_where_it_is_wanted(monkeypatch):
    rung = []
    source = StillRun(make_view())
    app = MonitorApp(source.run, run_source=lambda _: source)
    monkeypatch.setattr(app, "bell", lambda: rung.append(True))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("b")
        alert = Alert("error", "NaN or infinite: loss/policy", 200, 2048 * 200, 1)
        source.view = replace(source.view, alerts=(alert,))
        await until(pilot, shows(pilot, "NaN or infinite"))
        assert rung == [True]
        ended = replace(source.view.status, state="crashed", message="the process is gone")
        source.view = replace(source.view, status=ended)
        await until(pilot, shows(pilot, "crashed"))
        assert rung == [True, True]


async def test_no_color_leaves_out_every_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = watching()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        assert app.session.palette_name == "plain"
        assert app.no_color


async def test_themes_go_round_and_the_palette_finds_commands_by_name():
    app = watching()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        worn = []
        for _ in THEMES:
            worn.append(app.session.palette_name)
            await pilot.press("t")
            await until(pilot, shows(pilot, "episode/return"))
        assert set(worn) == set(THEMES)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert {"zoom in", "zoom out"} <= set(titles)  # which share a line of the help
        await pilot.press("ctrl+p", *"theme: contrast")
        await until(pilot, shows(pilot, "theme: contrast"))
        await pilot.press("enter")
        await until(pilot, lambda: app.session.palette_name == "contrast")


async def test_looks_that_come_faster_than_they_are_drawn_are_passed_over(monkeypatch):
    app = watching()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        screen, told = app.screen, []
        first, second = (Looked((Watched(make_view(num_rows=rows)),), ()) for rows in (5, 6))
        # For these two looks alone: without its messages the screen could not be closed.
        with monkeypatch.context() as patch:
            patch.setattr(screen, "post_message", told.append)
            screen.feed._is_told = False
            screen.feed.deliver(first)
            screen.feed.deliver(second)
        assert sum(isinstance(message, RunScreen.ViewArrived) for message in told) == 1
        assert screen.feed.newest is second
