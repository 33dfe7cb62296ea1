"""The screen of a sweep, from the list and back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from apps import choosing
from screens import until
from sweeping import made_up_table, make_sweep
from views import make_row

from operant.monitor.runs.list.runs_poller import RunsView
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.screens.runs_screen import RunsScreen
from operant.monitor.screens.sweep_screen import SweepScreen
from operant.monitor.widgets.trials_table import TrialsTable
from operant.shared.runs.run_folder import create_run


def shown(app, widget=TrialsTable):
    drawn = app.screen.query_one(widget)
    width, height = drawn.size
    return ["".join(text for text, _ in line) for line in drawn.draw(width, height)]


async def opened(app, pilot):
    await pilot.press("w")
    await until(pilot, lambda: isinstance(app.screen, SweepScreen))
    await until(pilot, lambda: "looking" not in "".join(shown(app)))


@pytest.mark.parametrize("size", [(60, 18), (120, 40)], ids=lambda s: f"{s[0]}")
def test_a_sweep_of_two_objectives(snap_compare, size):
    make_sweep("search", made_up_table(12, num_objectives=2))
    app = choosing()

    async def wait(pilot):
        await opened(app, pilot)
        await pilot.press("down")
        await until(pilot, lambda: app.screen.query_one(TrialsTable).selected == 8)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=wait)


async def test_w_shows_the_newest_sweep_and_w_leads_back():
    make_sweep("older", made_up_table(12))
    make_sweep("newer")
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        (head,) = shown(app, "#sweep-head")
        assert head.startswith(" operant  sweep newer 1/2")
        assert "interrupted, 5 of 40 trials" in head
        lines = shown(app)
        assert lines[1].startswith("▌     3 ○ unfinished")
        assert "★" in lines[2]
        assert any("what matters for evaluation/return" in line for line in lines)
        await pilot.press("tab")
        await until(pilot, lambda: "older 2/2" in shown(app, "#sweep-head")[0])
        # Trials as pictures, and again as a table.
        table = shown(app)
        for words in ("the best so far", "╭─ ppo.learning_rate", "ppo.num_epochs"):
            await pilot.press("v")
            await until(pilot, lambda words=words: words in "".join(shown(app)[:3]))
        await pilot.press("v")
        await until(pilot, lambda: shown(app) == table)
        await pilot.press("w")
        assert isinstance(app.screen, RunsScreen)


async def test_enter_opens_a_trials_runs_and_esc_comes_back_to_it():
    runs = []
    for seed in (1, 2):
        run, lock = create_run(f"search-2-s{seed}", {})
        lock.release()
        runs.append(run)
    table = made_up_table()
    trials = [replace(t, runs=tuple(run.id for run in runs)) for t in table.trials]
    make_sweep("search", replace(table, trials=tuple(trials[:3])))
    make_sweep("newer")
    row = replace(make_row("search-0", "running"), config={"sweep": "search", "trial": 0})
    app = choosing(RunsView((row,), is_complete=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen._view is not None)
        await opened(app, pilot)
        assert "sweep search" in shown(app, "#sweep-head")[0]  # that of the selected run
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert set(app.session.looks) == {run.id for run in runs}
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, SweepScreen))


async def test_the_selection_stays_and_s_sorts_by_number():
    sweep = make_sweep("search", made_up_table(3))
    app = choosing()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await pilot.press("v")
        await until(pilot, lambda: "no trial has finished yet" in "".join(shown(app)))
        await pilot.press(*"vvv")
        sweep.write_table(json.dumps(made_up_table().as_json()).encode())
        trials = app.screen.query_one(TrialsTable)
        await until(pilot, lambda: trials.num_rows == 6)
        await pilot.press("home", "down", "down")
        assert trials.selected == 1
        sweep.write_table(json.dumps(made_up_table(8).as_json()).encode())
        await until(pilot, lambda: trials.num_rows == 8)
        assert trials.selected == 1
        await pilot.press("s")
        numbers = [line.split()[0] for line in shown(app)[1:9] if not line.startswith("▌")]
        assert numbers[:2] == ["0", "2"]
        await pilot.press("end")
        assert trials.selected == 7
        await pilot.press("home", "up", "enter")  # whose run is gone: nothing opens
        assert trials.selected == 0
        assert isinstance(app.screen, SweepScreen)


async def test_a_sweep_without_trials_says_so():
    make_sweep("search", made_up_table(0))
    app = choosing()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await until(pilot, lambda: "no trial has begun yet" in "".join(shown(app)))


async def test_a_click_below_the_trials_that_are_seen_selects_none():
    make_sweep("search", made_up_table(30))
    app = choosing()
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        trials = app.screen.query_one(TrialsTable)
        await until(pilot, lambda: trials.num_rows == 30)
        await pilot.press("home")
        selected = trials.selected
        last = next(y for y, line in enumerate(shown(app)) if line.startswith("───"))
        await pilot.click(TrialsTable, offset=(10, last))
        assert trials.selected == selected
        await pilot.click(TrialsTable, offset=(10, last - 1))
        assert trials.selected != selected


async def test_without_a_sweep_it_says_how_to_begin_one_and_why_one_cannot_be_read():
    app = choosing()
    async with app.run_test(size=(160, 18)) as pilot:
        await opened(app, pilot)
        text = "\n".join(shown(app))
        assert "There are no sweeps yet." in text
        assert "operant sweep CONFIG --param" in text
        make_sweep("odd").table_path.write_text("{")
        await until(pilot, lambda: "table.json cannot be read" in "\n".join(shown(app)))
