"""What the screens of the monitor share: the settings, and keys of their own alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from textual.screen import Screen

from ..memory import forget_lines
from ..settings import Settings

if TYPE_CHECKING:
    from ..app import MonitorApp


class MonitorScreen(Screen[None], inherit_bindings=False):
    """A screen of `MonitorApp`."""

    @property
    def monitor(self) -> MonitorApp:
        return cast("MonitorApp", self.app)

    @property
    def settings(self) -> Settings:
        return self.monitor.settings

    def change_settings(self, **changes: Any) -> None:
        """Remember something for this session and the next."""
        self.monitor.change_settings(**changes)

    def on_unmount(self) -> None:
        forget_lines(self)
