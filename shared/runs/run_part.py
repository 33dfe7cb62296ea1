"""A part of a run: the folder on a machine where some of its ranks are, and not the first.

Its pages are of those ranks, and one for rank 0, as far as that tells. All else is where rank 0 is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from ..errors import RunFolderError
from ..processes.lock import RunLock
from .run_folder import Run, create_run, runs_folder

PART_OF = "part_of"


def open_part(
    run_id: str, host: str, folder: str, manifest: Mapping[str, Any]
) -> tuple[Run, RunLock]:
    """Make the folder of a run's part, or take that of a former time, with the lock of rank 0.
    The run itself is in `folder` on `host`.

    Raises RunFolderError where that cannot be, as where the very folder of the run is here, on a
    disk that machines share.
    """
    part = {"id": run_id, **manifest, PART_OF: {"host": host, "folder": folder}}
    run = Run(runs_folder() / run_id)
    if not run.folder.exists():
        return create_run(str(manifest.get("name", run_id)), part, rank=0, run_id=run_id)
    if not host_of_whole(run):
        raise RunFolderError(f"{run.folder} is the run's own")
    lock = RunLock(run.lock_path, 0)
    with contextlib.suppress(OSError):  # a disk that takes nothing
        run.write_manifest(part)
    run.forget_other_ranks()
    return run, lock


def host_of_whole(run: Run) -> str:
    """Where the run is that the folder has a part of; empty where it is the run's own."""
    part_of = run.manifest().get(PART_OF)
    host = part_of.get("host") if isinstance(part_of, dict) else None
    return host if isinstance(host, str) else ""
