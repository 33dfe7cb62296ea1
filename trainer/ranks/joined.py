"""What a process has once it has met the other ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import TrainConfig
    from ..run.telemetry import Report
    from .pages import Pages
    from .single import Ranks


class Joined:
    """A rank among the others, the configuration that all have, and the `pages` that show them;
    None for a process that is alone. Whoever trains says at the end whether it `is_complete`.
    """

    def __init__(self, config: TrainConfig, ranks: Ranks, pages: Pages | None = None) -> None:
        self.config, self.ranks, self.pages = config, ranks, pages
        self.is_complete = False

    def telling(self, report: Report) -> Report:
        """`report`, and other machines are told as well."""
        return self.pages.telling(report) if self.pages else report
