"""Runs that are gone on with or looked at from another folder than that in which they began."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...shared.errors import NotHereError
from ...shared.text.harmless import one_line

if TYPE_CHECKING:
    from ...shared.runs.run_folder import Run

MOST_SHOWN = 300  # characters of a path


@contextmanager
def told_where_it_began(run: Run) -> Iterator[None]:
    """What a run's configuration names and is not here is said with the folder where the run began,
    where that is another one: relative paths and modules of one's own lie there.
    """
    try:
        yield
    except NotHereError as error:
        folder = run.manifest().get("working_folder")
        if not isinstance(folder, str) or _is_here(folder):
            raise
        raise NotHereError(f"{error}; the run began in {one_line(folder, MOST_SHOWN)}") from None


def _is_here(folder: str) -> bool:
    try:
        return os.path.samefile(folder, ".")
    except OSError:
        return False
