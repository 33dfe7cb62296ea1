"""What the screens look like. After a change on purpose: `pytest --snapshot-update`, and look."""

from __future__ import annotations

import pytest
from views import StillRun, StillRuns, all_states, make_view

from operant.monitor.app import MonitorApp


def run_app(view) -> MonitorApp:
    source = StillRun(view)
    return MonitorApp(source.run, run_source=lambda _: source)


def ready(word: str, *keys: str):
    """Wait until the screen shows `word`, then press `keys`."""

    async def wait(pilot) -> None:
        for _ in range(2000):
            await pilot.pause(0.005)
            strips = pilot.app.screen._compositor.render_strips()
            if any(word in strip.text for strip in strips):
                break
        await pilot.press(*keys)
        await pilot.pause()

    return wait


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40)], ids=lambda size: f"{size[0]}")
def test_a_run_that_goes_well(snap_compare, size):
    app = run_app(make_view())
    assert snap_compare(app, terminal_size=size, run_before=ready("episode/return"))


def test_a_run_that_crashed(snap_compare):
    view = make_view("crashed", "the process is gone without a last word", age_s=192.0)
    app = run_app(view)
    assert snap_compare(app, terminal_size=(80, 24), run_before=ready("without a last word"))


def test_an_enlarged_chart(snap_compare):
    app = run_app(make_view())
    wait = ready("episode/return", "enter")
    assert snap_compare(app, terminal_size=(80, 24), run_before=wait)


def test_the_list_of_runs(snap_compare):
    app = MonitorApp(runs_source=StillRuns(all_states()))
    assert snap_compare(app, terminal_size=(80, 24), run_before=ready("7 runs"))
