"""The runs of another machine, kept up to date by a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from ...shared.text.harmless import one_line
from ..runs.list.runs_poller import RunRow
from .connection import Connection
from .frames import Frame
from .host import list_command
from .row_bounds import MAX_LIST_BYTES, MAX_ROWS
from .row_messages import read_list, row_bytes

AGAIN_AFTER_S = 5.0
SILENT_AFTER_S = 10.0  # a frame comes every second, whether there is news or not


class ListedRuns(NamedTuple):
    """What is known of a machine's runs. `trouble` says why nothing new comes; `is_complete` is
    False as long as more is known to come.
    """

    rows: tuple[RunRow, ...]
    trouble: str
    is_complete: bool


class RemoteList:
    """The list of the runs of `host`. `start` keeps it up to date until `close`, asking again as
    often as it takes; what was seen stays meanwhile.
    """

    def __init__(self, host: str, now: Callable[[], float] = time.monotonic) -> None:
        self.host = host
        self._now = now
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._connection: Connection | None = None
        self._rows: dict[str, RunRow] = {}
        self._num_bytes = 0  # of all rows, about
        self._unnamed: set[str] = set()  # known before this connection, and not named in it
        self._is_complete = self._is_connected = False
        self._trouble = "connecting"
        self._seen_s = now()

    def start(self) -> None:
        threading.Thread(target=self._follow, name=f"list {self.host}", daemon=True).start()

    def read_once(self, *, may_ask: bool) -> ListedRuns:
        """All runs, as they are now. Raises OperantError where the machine cannot be asked."""
        try:
            for _ in self._frames(may_ask):
                if self._is_complete:
                    break
        finally:
            self.close()
        return self.poll()

    def poll(self) -> ListedRuns:
        """What is known by now; it raises nothing."""
        with self._lock:
            now_s = self._now()
            trouble, silent_s = self._trouble, now_s - self._seen_s
            if self._is_connected and silent_s > SILENT_AFTER_S:
                trouble = f"{self.host} says nothing for {silent_s:.0f} s"
            is_complete = self._is_complete or not self._is_connected
            rows = tuple(
                replace(row.at(now_s), is_lost=bool(trouble)) for row in self._rows.values()
            )
        return ListedRuns(rows, trouble, is_complete)

    def close(self) -> None:
        self._ended.set()
        self._hang_up()

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                for _ in self._frames(may_ask=False):
                    pass
                trouble = f"lost the connection to {self.host}"
            # Whatever comes from another machine must not end the monitor.
            except Exception as error:
                trouble = one_line(str(error), 300) or type(error).__name__
            self._hang_up()
            with self._lock:
                self._trouble, self._is_connected = f"{trouble}; trying again", False
            self._ended.wait(AGAIN_AFTER_S)

    def _frames(self, may_ask: bool) -> Iterator[None]:
        """Connect, and take every frame that comes."""
        connection = Connection(self.host, list_command(self.host, may_ask=may_ask))
        self._connection = connection
        if self._ended.is_set():
            return
        self._unnamed = set(self._rows)
        self._take(connection.first_frame())
        yield
        for frame in connection.frames():
            if self._ended.is_set():
                return
            self._take(frame)
            yield

    def _take(self, frame: Frame) -> None:
        said = read_list(frame.head)
        with self._lock:
            for row in said.rows:
                before = self._rows.get(row.run)
                if before is None and len(self._rows) >= MAX_ROWS:
                    continue
                self._keep(row.run, row.row(self.host, self._now(), before))
                self._unnamed.discard(row.run)
            gone = {*said.gone, *(self._unnamed if said.is_complete else ())}
            self._unnamed -= gone
            for run_id in gone:
                self._drop(run_id)
            self._is_complete = said.is_complete
            self._trouble, self._is_connected, self._seen_s = "", True, self._now()

    def _keep(self, run_id: str, row: RunRow) -> None:
        """In place of what was known of that run, where there is room for it."""
        before = self._rows.get(run_id)
        num_bytes = self._num_bytes + row_bytes(row) - (row_bytes(before) if before else 0)
        if num_bytes <= MAX_LIST_BYTES:
            self._rows[run_id], self._num_bytes = row, num_bytes

    def _drop(self, run_id: str) -> None:
        if row := self._rows.pop(run_id, None):
            self._num_bytes -= row_bytes(row)

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.close()
