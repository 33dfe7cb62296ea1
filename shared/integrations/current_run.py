"""The current run of this process, into which every integration logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .logged_run import LoggedRun

current: LoggedRun | None = None  # also after its end


def set_current_run(run: LoggedRun) -> None:
    global current
    current = run


def open_run() -> LoggedRun | None:
    """The run of this process while it is open."""
    return current if current and current.is_open else None
