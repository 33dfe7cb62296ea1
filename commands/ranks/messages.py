"""What the process that starts ranks and these say to each other: a line of JSON each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ...shared.errors import OperantError

MAX_BYTES = 1 << 20
# Shells greet, and say what they like, before operant has its turn.
MARK = b"operant-rank "


def task(do: str, **told: Any) -> bytes:
    """For `operant rank`: `do` is `ask` or `train`."""
    return json.dumps({"do": do, **working_folder(), **told}).encode() + b"\n"


def read_task(file: int) -> dict[str, Any]:
    """The task that is the first line of `file`. Raises OperantError where that is none."""
    data = b""
    while not data.endswith(b"\n") and len(data) < MAX_BYTES and (more := os.read(file, 65536)):
        data += more
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise OperantError("`operant rank` is started by `operant train --processes` or `--nodes`")
    return found


def answer_line(answer: dict[str, Any]) -> bytes:
    return MARK + json.dumps(answer).encode() + b"\n"


def answer_in(line: bytes) -> dict[str, Any] | None:
    """The answer in a line of what another machine says; None where it says something else."""
    if not line.startswith(MARK):
        return None
    try:
        found = json.loads(line.removeprefix(MARK))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def working_folder() -> dict[str, Any]:
    """Where this process works, also as others may have it, whose home folder is elsewhere."""
    here = Path.cwd()
    below = here.relative_to(Path.home()) if here.is_relative_to(Path.home()) else None
    return {"folder": str(here), "below_home": None if below is None else str(below)}


def go_to_folder(told: dict[str, Any]) -> None:
    """Work in the folder that a task names, or the one that is called so below the home folder
    here; where it is not there, stay.
    """
    below = told.get("below_home")
    for folder in ([Path.home() / below] if below else []) + [Path(told["folder"])]:
        try:
            os.chdir(folder)
            return
        except OSError:
            continue
