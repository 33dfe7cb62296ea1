"""Write a run's screen as an SVG file, without a terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from textual.pilot import Pilot

from ..shared.runs.run_folder import Run
from .app import MonitorApp
from .runs.list.comparison import Comparison
from .screens.run_screen import RunScreen
from .session.settings import Settings, load_settings, settings_path

_LOOK_AGAIN_S, _PATIENCE_S = 0.02, 30.0
_TITLE = "operant monitor"


def picture(
    run: Run,
    size: tuple[int, int],
    theme: str | None = None,
    keys: Sequence[str] = (),
    beside: Sequence[Run] = (),
) -> str:
    """The screen of `run`, with the runs `beside` it, in `size` columns and rows after `keys` were
    pressed: the text of an SVG file.
    """
    os.environ.setdefault("TERM", "xterm-256color")
    os.environ["COLORTERM"] = "truecolor"
    return asyncio.run(_picture(run, size, theme, keys, beside))


async def _picture(
    run: Run,
    size: tuple[int, int],
    theme: str | None,
    keys: Sequence[str],
    beside: Sequence[Run],
) -> str:
    settings, _ = load_settings(settings_path())
    # What someone hid in a small terminal belongs to it, and not to the picture.
    settings = replace(settings, ascii=False, panes=Settings().panes)
    app = MonitorApp(run, settings=settings, theme=theme, is_readonly=True)
    app.session.comparison = Comparison(tuple(beside))
    async with app.run_test(size=size) as pilot:
        await _until(pilot, lambda screen: isinstance(screen, RunScreen) and screen.has_all_rows)
        for key in keys:
            await pilot.press(key)
            await _until(pilot, lambda s: not isinstance(s, RunScreen) or s.has_all_rows)
        return app.export_screenshot(title=_TITLE)


async def _until(pilot: Pilot[None], condition: Callable[[object], bool]) -> None:
    """Wait until `condition` holds of the screen."""
    for _ in range(int(_PATIENCE_S / _LOOK_AGAIN_S)):
        await pilot.pause(_LOOK_AGAIN_S)
        if condition(pilot.app.screen):
            break
    await pilot.pause()
