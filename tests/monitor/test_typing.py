"""Text that arrives at once, as pasted or over a slow ssh: it goes into the prompt, and what it
happens to press outside of one is not remembered.
"""

from __future__ import annotations

import asyncio

import pytest
from apps import choosing
from screens import shows, until
from textual import events
from textual.keys import _character_to_key
from textual.widgets import Input
from views import StillRun, StillRuns, all_states, make_view

from operant.monitor.app import MonitorApp
from operant.monitor.charts.options import ChartOptions
from operant.monitor.session.settings import Settings, load_settings
from operant.monitor.widgets.chart_grid import ChartGrid


@pytest.fixture
def path(tmp_path):
    return tmp_path / "monitor.toml"


def watching(path) -> MonitorApp:
    source = StillRun(make_view())
    return MonitorApp(source.run, run_source=lambda _: source,
                      runs_source=StillRuns(all_states()), settings_path=path)  # fmt: skip


def type_at_once(app: MonitorApp, text: str) -> None:
    """All of it in one read of the terminal: nothing is handled in between."""
    start_s = events.Key("a", "a").time
    for character in text:
        key = "enter" if character == "\n" else _character_to_key(character)
        event = events.Key(key, None if character == "\n" else character)
        event.time = start_s  # a busy machine may stop this process between two keys
        app._driver.send_message(event)


def typed(app: MonitorApp) -> list[str]:
    return [field.value for field in app.screen.query(Input) if field.has_focus]


def remembered(path) -> Settings:
    return load_settings(path)[0]


@pytest.mark.parametrize("word", ["loss", "aS0zy1x2"])
async def test_a_search_typed_at_once_is_the_prompts_from_the_first_byte(path, word):
    app = watching(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        type_at_once(app, f"/{word}")
        await until(pilot, lambda: typed(app) == [word])
        grid = app.screen.query_one(ChartGrid)
        assert grid.options == ChartOptions(words=(word,))
        assert remembered(path) == Settings()
        type_at_once(app, "\nss")  # keys after it are keys again
        await until(pilot, lambda: grid.options.smoothing == 2)


@pytest.mark.parametrize(("key", "text"), [("slash", "run"), ("s", "return"), ("ctrl+p", "theme")])
async def test_so_are_a_filter_what_is_chosen_and_a_command(key, text):
    app = choosing()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "finished"))
        app._driver.send_message(events.Key(key, key[0] if key == "s" else None))
        type_at_once(app, text)
        await until(pilot, lambda: typed(app) == [text])


@pytest.mark.parametrize("text", ["value", "PH"])
async def test_text_outside_of_a_prompt_is_not_remembered(path, text):
    app = watching(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        type_at_once(app, text)
        await until(pilot, lambda: not app._waiting and app._settling and app._settling.done())
        await pilot.pause()
    assert remembered(path) == Settings()
    charts = path.with_name("charts.toml")
    assert not charts.exists() or not charts.read_text().strip()


async def test_what_the_first_key_of_a_text_has_changed_already_is_undone(path):
    app = watching(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        first, second = events.Key("a", "a"), events.Key("s", "s")
        second.time = first.time + 0.001
        app._driver.send_message(first)
        await until(pilot, lambda: remembered(path).x_axis == "iterations")
        app._driver.send_message(second)
        await until(pilot, lambda: remembered(path) == Settings())


async def test_a_key_pressed_alone_or_held_down_is_remembered(path):
    app = watching(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        type_at_once(app, "a")
        await until(pilot, lambda: remembered(path).x_axis == "iterations")
        await asyncio.sleep(0.05)
        type_at_once(app, "sss")
        await until(pilot, lambda: remembered(path).smoothing == 3)
    assert remembered(path).x_axis == "iterations"


async def test_a_bracketed_paste_is_text_and_outside_of_a_prompt_does_nothing(path):
    app = watching(path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        app._driver.send_message(events.Paste("value"))
        type_at_once(app, "/")
        app._driver.send_message(events.Paste("loss"))
        await until(pilot, lambda: typed(app) == ["loss"])
        assert app.screen.query_one(ChartGrid).options == ChartOptions(words=("loss",))
    assert remembered(path) == Settings()
