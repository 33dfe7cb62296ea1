"""A run on another machine, among those that are here."""

from __future__ import annotations

from pathlib import Path

from ...shared.runs.run_folder import Run
from .host import RemoteName


class RunElsewhere(Run):
    """A run on another machine: it has no folder here, only a name to show and to compare."""

    def __init__(self, remote: RemoteName) -> None:
        super().__init__(Path(f"{remote.host}:{remote.run.replace('/', ' ')}"))
        self.remote = remote
