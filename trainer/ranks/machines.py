"""Which ranks can show their pages together: those of one machine, as far as that can be told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...shared.errors import PageError
from ...shared.host import boot_id
from ...shared.page_file import make_page_folder, page_folder
from ...shared.run_folder import make_home, runs_folder

if TYPE_CHECKING:
    from .meeting import Introduction


def place_of_pages() -> str:
    """Equal in all processes that have their pages in the same folder of the same machine."""
    try:
        make_page_folder(page_folder())
    except PageError:  # pages are in the processes then
        return f"{boot_id().hex()} {page_folder()}"
    return f"{boot_id().hex()} {_identity(page_folder())}"


def place_of_runs(folder: Path | None = None) -> str:
    """Equal in all processes whose runs have their folders in the same one, by default this user's;
    empty where there is none.
    """
    try:
        if folder is None:
            make_home(runs_folder())
        return _identity(folder or runs_folder())
    except OSError:
        return ""


def _identity(folder: Path) -> str:
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


class Machines:
    """Where the `ranks` of a run are, as they say it."""

    def __init__(self, ranks: Sequence[Introduction]) -> None:
        self._places = [(one.pages, one.home) for one in ranks]

    @property
    def are_several(self) -> bool:
        return not all(map(self.is_first, range(len(self._places))))

    def is_first(self, rank: int) -> bool:
        """Whether it is where rank 0 is, and the run's folder too."""
        return bool(self._places[rank][1]) and self._places[rank] == self._places[0]

    def lead(self, rank: int) -> int | None:
        """Who keeps the part of the run on the machine of `rank`. None where there is none: pages
        of a part are called as the run's own, and cannot lie beside them.
        """
        pages, home = self._places[rank]
        if not home or pages == self._places[0][0]:
            return None
        return self._places.index((pages, home))
