"""What the screens of the monitor share: the settings, and keys of their own alone."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from ..session.memory import forget_lines
from ..session.session import Session, session_of
from ..session.settings import Settings


class MonitorScreen(Screen[None], inherit_bindings=False):
    """A screen that knows the session."""

    @property
    def session(self) -> Session:
        return session_of(self.app)

    @property
    def settings(self) -> Settings:
        return self.session.settings

    def change_settings(self, **changes: Any) -> None:
        """Remember something for this session and the next."""
        self.session.change_settings(**changes)

    def on_unmount(self) -> None:
        forget_lines(self)
