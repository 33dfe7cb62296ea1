"""Whether a run is the user's own, and no copy of one that may go on elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from ...shared.errors import PageError
from ...shared.runs.run_folder import Run
from ...shared.runs.status import open_page


def is_original(run: Run) -> bool:
    """Whether the run was made in the folder that it is in: what becomes of a copy is no news.

    Another machine may have the same folder, of a shared disk, under another device number.
    """
    try:
        reader = open_page(run)
    except PageError:
        return False
    reader.detach()
    place = reader.header.place
    if place is None or place.path != Path(os.path.abspath(run.folder)):
        return False
    try:
        return place.home_inode == place.path.parent.stat().st_ino
    except OSError:
        return False
