"""Looking at a screen of the monitor, and waiting for what should stand there."""

from __future__ import annotations

from operant.monitor.app import MonitorApp

TRIES = 2000


def screen_text(app: MonitorApp) -> str:
    """The text on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def until(pilot, condition) -> None:
    """Wait for `condition`, however long a poll takes."""
    for _ in range(TRIES):
        await pilot.pause()
        if condition():
            return
        await pilot.pause(0.005)
    raise AssertionError(f"it never came to be; the screen:\n{screen_text(pilot.app)}")


def shows(pilot, *words: str):
    return lambda: all(word in screen_text(pilot.app) for word in words)


def notifies(app: MonitorApp, words: str):
    """Whether a notification has these words; the screen's text has none of them."""
    return lambda: any(words in note.message for note in app._notifications)
