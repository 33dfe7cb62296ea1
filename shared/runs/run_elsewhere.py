"""A run on another machine. Its folder here is a mirror: a stream writes pieces of the run's files
into it, under the same names, see `monitor/remote`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from .run_folder import Run
from .small_file import read_json

REPORT_FILE = "status.json"
MAX_REPORT_BYTES = 1 << 20


class RunElsewhere(Run):
    """A run of `host`, called `there` on it. Locks and clocks of its folder are not this machine's:
    the `report` says whether the run is alive, and how long ago it published.
    """

    def __init__(self, host: str, there: str, folder: Path) -> None:
        super().__init__(folder)
        self.host, self.there = host, there

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunElsewhere) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def id(self) -> str:
        return f"{self.host}:{self.there}"

    @property
    def id_in_page(self) -> str:
        return self.there[:64]

    def report(self) -> dict[str, Any]:
        """The newest `RunReport` of its machine, as fields; empty before the first."""
        with contextlib.suppress(OSError, ValueError):
            return dict(read_json(self.folder / REPORT_FILE, 2 * MAX_REPORT_BYTES, self.folder))
        return {}
