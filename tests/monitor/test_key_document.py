"""The keys in docs/keys.md are those there are, and the help has all of them."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from apps import choosing, grouping, watching
from screens import screen_text, shows, until
from sweeping import make_sweep

from operant.monitor.screens.help_screen import HelpScreen
from operant.monitor.session.keys import key_rows

DOCUMENT = (Path(__file__).parents[2] / "docs" / "keys.md").read_text()


def documented() -> set[tuple[str, str]]:
    """(keys, what they do) of all tables of keys."""
    rows = re.findall(r"^\| ((?:`[^`]+` ?)+)\| ([^|]+) \|$", DOCUMENT, re.M)
    return {(" ".join(re.findall(r"`([^`]+)`", keys)), what) for keys, what in rows}


@pytest.mark.parametrize(
    ("make_app", "keys", "words"),
    [
        (watching, [], "episode/return"),
        (choosing, [], "7 runs"),
        (grouping, ["v", "enter", "enter"], "2 of 3 runs"),
        (choosing, ["w"], "sweep search"),
    ],
    ids=["run", "runs", "group", "sweep"],
)
async def test_every_key_of_a_screen_is_in_the_help_and_in_the_document(make_app, keys, words):
    make_sweep("search")
    app = make_app()
    async with app.run_test(size=(120, 100)) as pilot:
        await until(pilot, lambda: app.focused is not None)
        if keys:
            await until(pilot, shows(pilot, " runs"))
            await pilot.press(*keys)
        await until(pilot, shows(pilot, words))
        rows = {row for _, keys in app.help_sections(app.screen) for row in key_rows(keys)}
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await until(pilot, shows(pilot, "everywhere"))
        text = screen_text(app)
    assert rows <= documented()
    assert len(rows) > 8
    for _, what in rows:
        assert all(line in text for line in textwrap.wrap(what, 54))
