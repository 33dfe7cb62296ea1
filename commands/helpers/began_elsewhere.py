"""Errors about runs that are used in another folder than the one they began in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...shared.errors import NotHereError
from ...shared.runs.run_folder import SHARED_CODE
from ...shared.text.harmless import one_line

if TYPE_CHECKING:
    from ...shared.runs.run_folder import Run

MOST_SHOWN = 300  # characters of a path


@contextmanager
def told_where_it_began(run: Run) -> Iterator[None]:
    """Add the folder where the run began to errors about files and modules that are missing here:
    relative paths and the user's own modules lie there. For a policy that somebody shared, the
    error names the file of a missing module and where to get it.
    """
    try:
        yield
    except NotHereError as error:
        folder = run.manifest().get("working_folder")
        if error.module and not isinstance(folder, str):
            raise NotHereError(f"{error}; {_from_its_author(run, error.module)}") from None
        if not isinstance(folder, str) or _is_here(folder):
            raise
        raise NotHereError(f"{error}; the run began in {one_line(folder, MOST_SHOWN)}") from None


def _from_its_author(run: Run, module: str) -> str:
    path = module.replace(".", "/")
    for file in (f"{path}.py", f"{path}/__init__.py"):
        shared = run.folder / SHARED_CODE / file
        if shared.is_file():
            top = one_line(str(run.folder / SHARED_CODE / file.partition("/")[0]), MOST_SHOWN)
            return f"it came with the policy: read {top}, then copy it into this folder"
    return f"ask the author of the policy for {path}.py, or for a `push --with-code`"


def _is_here(folder: str) -> bool:
    try:
        return os.path.samefile(folder, ".")
    except OSError:
        return False
