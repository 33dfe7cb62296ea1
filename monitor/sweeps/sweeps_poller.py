"""Looks after one sweep at a time, by the files that whoever runs it writes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ...shared.errors import OperantError
from ...shared.runs.sweep_folder import Sweep, SweepState, list_sweeps
from ...shared.runs.sweep_table import SweepTable


@dataclass(frozen=True)
class SweepView:
    """One look at a sweep; `error` says why there is no table. `place` counts from 1, among
    `num_sweeps`, the newest first.
    """

    sweep: Sweep | None = None
    table: SweepTable | None = None
    state: SweepState = "interrupted"
    place: int = 0
    num_sweeps: int = 0
    error: str = ""


class SweepsPoller:
    """Reads the table of the wanted sweep, the newest by default, where its file has changed."""

    def __init__(self, wanted: str = "") -> None:
        self._wanted = wanted
        self._known: tuple[object, SweepTable] | None = None

    def poll(self) -> SweepView:
        sweeps = list_sweeps()
        if not sweeps:
            return SweepView(error="There are no sweeps yet.")
        names = [sweep.name for sweep in sweeps]
        place = names.index(self._wanted) if self._wanted in names else 0
        self._wanted = names[place]
        sweep = sweeps[place]
        try:
            table = self._read(sweep)
        except OperantError as error:
            return SweepView(sweep, None, "interrupted", place + 1, len(sweeps), str(error))
        return SweepView(sweep, table, sweep.state(table), place + 1, len(sweeps))

    def turn(self, sweeps: int) -> None:
        """Look at another from now on, so many further down the list, round its end."""
        names = [sweep.name for sweep in list_sweeps()]
        if names:
            place = names.index(self._wanted) if self._wanted in names else 0
            self._wanted = names[(place + sweeps) % len(names)]

    def _read(self, sweep: Sweep) -> SweepTable:
        """The table, taken apart once for each time that it was written."""
        try:
            status = os.stat(sweep.table_path)
            stamp: object = (sweep, status.st_ino, status.st_mtime_ns, status.st_size)
        except OSError:
            stamp = None
        if stamp is None or self._known is None or self._known[0] != stamp:
            self._known = stamp, sweep.table()
        return self._known[1]
