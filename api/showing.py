"""`operant.show`: shows a run live, in a terminal or a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from pathlib import Path
from typing import Any

from ..commands.helpers.terminal import has_terminal
from .runs import Run, folder_of
from .tracebacks import short_traceback

EVERY_S = 1.0


@short_traceback
def show(run: Run | str | Path | None = None) -> None:
    """Show a run. Default: the latest.

    In a terminal this opens the monitor; the run goes on when you leave it. In a notebook the cell
    shows the run's curve and numbers, and updates them until the run ends or the cell is
    interrupted. Otherwise, for example if output goes to a file, it prints the run's state.
    """
    handle = Run(folder_of(run))
    if display := _display_of_a_notebook():
        _follow(handle, display)
    elif has_terminal():
        from ..monitor.app import watch

        watch(folder_of(handle))
    else:
        print(handle)


def _display_of_a_notebook() -> Any:
    """IPython's `display` if output goes to a notebook, else None."""
    ipython = sys.modules.get("IPython")
    shell = ipython and ipython.get_ipython()
    if not shell or not hasattr(shell, "kernel"):
        return None
    return importlib.import_module("IPython.display").display


def _follow(run: Run, display: Any) -> None:
    """Display the run and update it until the run ends. An interrupt ends only the display."""
    shown = display(run, display_id=True)
    try:
        while run.status().is_alive:
            time.sleep(EVERY_S)
            shown.update(run)
    except KeyboardInterrupt:
        return
    shown.update(run)
