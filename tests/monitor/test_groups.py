"""Groups of runs as people use them."""

from __future__ import annotations

from apps import grouping
from groups import ROWS, member
from screens import screen_text, shows, until
from views import StillRun

from operant.monitor.runs.list.group_source import WatchedGroup
from operant.monitor.screens.group_screen import GroupScreen
from operant.monitor.screens.runs_screen import RunsScreen
from operant.monitor.widgets.chart_grid import ChartGrid


def test_who_looks_at_a_group_asks_nothing_of_a_screen_that_may_be_gone():
    views = {row.run: member(row).view for row in ROWS}
    group = WatchedGroup("a", tuple(row.run for row in ROWS[:3]))
    screen = GroupScreen([group], lambda run: StillRun(views[run]))
    (look,) = screen._loop._poll()  # no app: there raises whatever asks for one
    assert len(look.views) == 3


async def test_a_group_opens_with_its_mean_and_several_lie_over_each_other():
    app = grouping()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "6 runs"))
        await pilot.press("v", "enter")
        await until(pilot, shows(pilot, "learning_rate=0.01 "))
        await pilot.press("enter")
        await until(pilot, shows(pilot, "3 seeds", "2 of 3 runs", "25% to 75%", "group/runs"))
        assert isinstance(app.screen, GroupScreen)
        assert len(app.screen.query_one(ChartGrid).board.runs) == 1
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))
        await pilot.press("space", "down", "p", "up", "enter")
        await until(pilot, lambda: isinstance(app.screen, GroupScreen))
        await until(pilot, lambda: len(app.screen.query_one(ChartGrid).board.runs) == 2)
        front, reference = app.screen.query_one(ChartGrid).board.runs
        assert (front.is_reference, reference.is_reference) == (False, True)
        assert front.look != reference.look
        await until(pilot, shows(pilot, "2 groups", "0.001 · 3 seeds", "0.01 · 3 seeds", " ref"))
        await until(pilot, shows(pilot, "return 117.3 -4.9%"))  # and 123.3
        await pilot.press("escape")
        await until(pilot, shows(pilot, "vs ref", "-4.9%"))


async def test_v_goes_through_the_statistics_and_the_list_follows():
    app = grouping()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "6 runs"))
        await pilot.press("v", "enter", "enter")
        await until(pilot, shows(pilot, "25% to 75%", "75.50 to 151.0"))
        for words in (
            ("min to max", "50.00 to 201.0"),
            ("± standard error", "± 44.35", "n=3"),
            ("interquartile means, bands 95% bootstrap intervals",),
        ):
            await pilot.press("v")
            await until(pilot, shows(pilot, *words))
        await pilot.press("v", "v", "escape")
        await until(pilot, shows(pilot, "6 runs", "50.00 to 201.0"))


async def test_seeds_are_grouped_with_filters_and_orders_and_single_again():
    app = grouping()
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, shows(pilot, "6 runs"))
        await pilot.press("v")
        await until(pilot, shows(pilot, "group by", "all but the seed is the same"))
        await pilot.press("enter")
        await until(pilot, shows(pilot, "learning_rate=0.001", "learning_rate=0.01", "117.3"))
        assert app.focused.id == "groups"
        await pilot.press("v", "enter")
        await until(pilot, shows(pilot, "seed3"))
        assert app.focused.id == "runs"
        await pilot.press("v", *"learning", "enter")
        await until(pilot, shows(pilot, "by ppo.learning_rate", "ppo.learning_rate=0.001"))
        await pilot.press("slash", *"seed<3", "enter")
        await until(pilot, shows(pilot, "4 of 6 runs", "160.0"))  # of 110 and 210
        await pilot.press("s", *"return", "enter")
        await until(pilot, shows(pilot, "return↓"))
        text = screen_text(app)
        assert text.index("rate=0.01 ") < text.index("rate=0.001 ")
        await pilot.press("slash", *" nothing", "enter")
        await until(pilot, shows(pilot, "No run fits the filter"))
