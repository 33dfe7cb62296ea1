"""Which page of a run is the one to record, while processes come and go."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from ...shared import MetricsReader, PageError
from ...shared.page.page_place import page_place
from ...shared.runs.run_folder import Run
from ...shared.runs.status import open_page

REOPEN_EVERY_S = 1.0
UNANNOUNCED_AFTER_S = 2.0


@dataclass(frozen=True)
class Page:
    """An open page. `after_publish` and `since_wall_s` say from where and since when its process
    goes on, None where it did not say.
    """

    reader: MetricsReader
    after_publish: int | None
    since_wall_s: float


class PageWatch:
    """Keeps the newest page of the run open, also once its file is deleted."""

    def __init__(self, run: Run, now: Callable[[], float] = time.monotonic) -> None:
        self.page: Page | None = None
        self._run, self._now = run, now
        self._announced: tuple[int, int] | None = None
        self._opened_s = float("-inf")
        self._unannounced_s: float | None = None

    def look(self, is_alive: bool) -> bool:
        """Open the page when there is one to open; True when it is another than before.

        Raises PageError when there is a page that cannot be read.
        """
        announced = self._run.place_written()
        is_due = self._now() - self._opened_s >= REOPEN_EVERY_S
        if announced == self._announced and (self.page or (is_alive and not is_due)):
            return False
        self._opened_s = self._now()
        page = _opened(self._run)
        if page is None or not self._is_settled(page, is_alive):
            if page:
                page.reader.detach()
            return False
        self._announced, self._unannounced_s = announced, None
        if self.page and page.reader.header.identity == self.page.reader.header.identity:
            page.reader.detach()
            return False
        self.close()
        self.page = page
        return True

    def close(self) -> None:
        if self.page:
            self.page.reader.detach()
            self.page = None

    def _is_settled(self, page: Page, is_alive: bool) -> bool:
        """Whether its process has said that this is its page, or will not say so any more.

        It says so right after making it; until then, what lies there may be of a former process.
        """
        if page.after_publish is not None or not is_alive:
            return True
        self._unannounced_s = self._unannounced_s or self._now()
        return self._now() - self._unannounced_s >= UNANNOUNCED_AFTER_S


def _opened(run: Run) -> Page | None:
    """The page as it can be had now. Raises PageError when it cannot be read."""
    place = page_place(run)
    try:
        reader = open_page(run)
    except PageError:
        if place:
            raise
        return None
    header = reader.header
    is_announced = (place.get("pid"), place.get("process_start")) == (
        header.pid,
        header.process_start,
    )
    after, since_ns = place.get("after_publish"), place.get("since_wall_ns")
    if not is_announced or type(after) is not int or type(since_ns) is not int:
        return Page(reader, None, 0.0)
    return Page(reader, after, since_ns / 1e9)
