"""The keys in docs/keys.md are those there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from apps import choosing, grouping, watching
from screens import shows, until

from operant.monitor.screens.group_screen import GroupScreen
from operant.monitor.session.keys import key_rows

DOCUMENT = (Path(__file__).parents[2] / "docs" / "keys.md").read_text()


def documented() -> set[tuple[str, str]]:
    """(keys, what they do) of all tables of keys."""
    rows = re.findall(r"^\| ((?:`[^`]+` ?)+)\| ([^|]+) \|$", DOCUMENT, re.M)
    return {(" ".join(re.findall(r"`([^`]+)`", keys)), what) for keys, what in rows}


@pytest.mark.parametrize("make_app", [watching, choosing])
async def test_every_key_of_a_screen_is_in_the_document(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        rows = {row for _, keys in app.help_sections(app.screen) for row in key_rows(keys)}
    assert rows <= documented()
    assert len(rows) > 8


async def test_every_key_of_a_group_is_in_the_document():
    app = grouping()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await until(pilot, shows(pilot, "6 runs"))
        await pilot.press("v", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, GroupScreen))
        rows = {row for _, keys in app.help_sections(app.screen) for row in key_rows(keys)}
    assert rows <= documented()
