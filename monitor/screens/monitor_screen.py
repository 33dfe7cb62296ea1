"""What the screens of the monitor share: the settings, and keys of their own alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.message import Message
from textual.screen import Screen

from ...shared.runs.run_folder import Run
from ...shared.runs.run_notes import RunNotes
from ..runs.reading.poll_loop import PollLoop
from ..session.memory import forget_lines
from ..session.session import Session, session_of
from ..session.settings import Settings
from ..session.terminal_driver import TerminalDriver


class MonitorScreen(Screen[None], inherit_bindings=False):
    """A screen that knows the session."""

    class NotesWanted(Message):
        """Somebody wants to edit the note of `run`, which has `notes` now."""

        def __init__(self, run: Run, notes: RunNotes) -> None:
            super().__init__()
            self.run, self.notes = run, notes

    class RunOpened(Message):
        """Somebody wants to see `run`, with the `others` on its charts."""

        def __init__(self, run: Run, others: Sequence[Run] = ()) -> None:
            super().__init__()
            self.run, self.others = run, tuple(others)

    @property
    def session(self) -> Session:
        return session_of(self.app)

    @property
    def settings(self) -> Settings:
        return self.session.settings

    def change_settings(self, **changes: Any) -> None:
        """Remember something for this session and the next."""
        self.session.change_settings(**changes)

    def on_screen_resume(self) -> None:
        """There is something to see, so keys may act."""
        driver = self.app._driver
        if isinstance(driver, TerminalDriver):
            driver.takes_keys = True

    def on_unmount(self) -> None:
        forget_lines(self)


class PollingScreen(MonitorScreen):
    """A screen whose poll loop runs while the screen is in front."""

    _loop: PollLoop[Any]

    def on_screen_resume(self) -> None:
        self._loop.start()

    def on_screen_suspend(self) -> None:
        self._loop.stop()

    def on_unmount(self) -> None:
        self._loop.stop()
