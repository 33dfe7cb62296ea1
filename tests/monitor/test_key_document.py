"""The keys in docs/monitor.md are those there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from apps import choosing, grouping, watching
from screens import shows, until

from operant.monitor.screens.group_screen import GroupScreen
from operant.monitor.session.keys import key_rows

DOCUMENT = (Path(__file__).parents[2] / "docs" / "monitor.md").read_text()


def documented() -> set[tuple[str, str]]:
    """(keys, what they do) of all tables of keys."""
    rows = re.findall(r"^\| ((?:`[^`]+` ?)+)\| ([^|]+) \|$", DOCUMENT.partition("## Keys")[2], re.M)
    return {(" ".join(re.findall(r"`([^`]+)`", keys)), what) for keys, what in rows}


@pytest.mark.parametrize("make_app", [watching, choosing])
async def test_every_key_is_in_the_document_and_no_other(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        sections = app.help_sections(app.screen)
        rows = {row for _, bindings in sections for row in key_rows(bindings)}
    assert rows <= documented()
    assert len(rows) > 8


async def test_the_document_names_no_key_that_is_gone():
    rows = set()
    for make_app, screens in ((watching, ()), (choosing, ()), (grouping, ("v", "enter", "enter"))):
        app = make_app()
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            if screens:
                await until(pilot, shows(pilot, "6 runs"))
                await pilot.press(*screens)
                await until(pilot, lambda app=app: isinstance(app.screen, GroupScreen))
            for _, bindings in app.help_sections(app.screen):
                rows |= set(key_rows(bindings))
    assert documented() <= rows
