"""Below a short list stands what is known of the selected run."""

from __future__ import annotations

from dataclasses import replace

from screens import screen_text, shows, until
from views import StillRun, StillRuns, all_states, make_view

from operant.monitor.app import MonitorApp
from operant.monitor.runs.list.runs_poller import RunsView
from operant.monitor.widgets.run_preview import RunPreview


async def test_the_selected_run_shows_its_curve_its_settings_and_its_events_below_the_list():
    rows = all_states().rows[:2]
    sources = []

    def source_of(run):
        view = make_view()
        named = replace(view.status, run=run.id)
        sources.append(StillRun(replace(view, status=named)))
        return sources[-1]

    app = MonitorApp(run_source=source_of, runs_source=StillRuns(RunsView(rows, True)))
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, shows(pilot, "2 runs", "episode/return ─", "events", "configuration"))
        await pilot.press("down")
        await until(pilot, lambda: len(sources) == 2 and sources[0].is_closed)
        await pilot.resize_terminal(100, 16)  # no room for it beside the list
        await until(pilot, lambda: not app.screen.query_one(RunPreview).display)
        assert "configuration" not in screen_text(app)
        assert sources[1].is_closed
