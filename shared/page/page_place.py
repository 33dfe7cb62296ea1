"""`place.json`: which process writes a run's page, and where the page lies."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..runs.run_folder import Run
from ..runs.small_file import read_json
from .page_file import page_folder

MAX_PLACE_BYTES = 1 << 16


def page_place(run: Run) -> dict[str, Any]:
    """The facts that the run's process wrote about itself, see `RunSession`. Values that are not
    possible are left out; empty if the file is missing or broken.
    """
    try:
        place = read_json(run.place_path, MAX_PLACE_BYTES, run.folder)
    except (OSError, ValueError):
        return {}
    if not isinstance(place, dict):
        return {}
    known = {
        key: place.get(key) for key, is_possible in _POSSIBLE.items() if is_possible(place.get(key))
    }
    page = place.get("page")
    # Whoever reads the file may delete the page it names: no other file may be named.
    if isinstance(page, str) and os.path.basename(page) == page_path(run).name:
        known["page"] = page
    return known


def page_path(run: Run) -> Path:
    """Where the page of a run lies in memory, unless its process says otherwise."""
    return page_folder() / f"{run.id}.page"


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_small_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 31


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


_POSSIBLE: dict[str, Callable[[Any], bool]] = {
    "pid": _is_small_count,
    "process_start": _is_count,
    "boot_id": _is_text,
    "fd": _is_small_count,
    "after_publish": _is_count,
    "since_wall_ns": _is_count,
    "ends_with_process": _is_flag,
}
