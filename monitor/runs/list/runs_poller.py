"""Looks after the list of all runs: alive ones often, ended ones once."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....shared.processes.lock import lock_holder
from ....shared.runs.find_runs import list_runs
from ....shared.runs.run_elsewhere import RunElsewhere
from ....shared.runs.run_folder import Run
from ....shared.runs.run_notes import NO_NOTES, RunNotes
from ....shared.runs.status import RunStatus, status_in_list, status_of
from ....shared.text.harmless import one_line
from ...charts.charted_metrics import main_metric
from ..reading.recorded_notes import RecordedNotes
from ..reading.run_description import dotted
from .run_returns import read_returns

HERE = "here"  # this machine's name, where there are others beside it
NEW_AT_ONCE = 40  # runs read for the first time in one poll
CHECKED_AT_ONCE = 40  # ended runs looked at in one poll, in case somebody resumed one
RETURNS_FOR_S = 0.1  # of reading curves in one poll
MAX_NAME_CHARACTERS, MAX_DEVICE_CHARACTERS = 1000, 40
RETURNS_EVERY_S = 10.0  # for a run that is alive


@dataclass(frozen=True)
class RunRow:
    """A run in the list, as it was at `looked_s`; no status while it was not looked at yet.
    `config` has dotted keys, `ppo.learning_rate`, and of a sweep's run `sweep` and `trial`.
    `returns` is the main metric over the run. `host` is the machine of a run elsewhere; while that
    does not answer, the run `is_lost` from sight. `given_name` is all of what the id
    has a part of.
    """

    run: Run
    status: RunStatus | None = None
    is_page_expected: bool = True
    looked_s: float = 0.0
    described_by: tuple[int, int] | None = None  # the manifest of device, config and given name
    device: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    given_name: str = ""
    notes: RunNotes = NO_NOTES
    returns: tuple[float, ...] = ()
    returns_s: float = -math.inf  # when they were read
    host: str = ""
    is_lost: bool = False

    @property
    def name(self) -> str:
        """The name that people gave the run, else its id, without the machine."""
        return self.notes.name or self.run.id.removeprefix(f"{self.host}:" if self.host else "")

    def at(self, now_s: float) -> RunRow:
        """The row with the age it has by now, for runs that are not looked at again."""
        if self.status is None or self.status.age_s is None:
            return self
        age_s = self.status.age_s + now_s - self.looked_s
        return replace(self, status=replace(self.status, age_s=age_s), looked_s=now_s)


@dataclass(frozen=True)
class Machine:
    """A machine whose runs are in the list; `trouble` says why nothing new comes from it."""

    host: str
    trouble: str = ""


@dataclass(frozen=True)
class RunsView:
    """All runs, newest first. `is_complete` is False while some were never looked at, `has_returns`
    while the returns of some were not read. `machines` are the others, where there are any.
    """

    rows: tuple[RunRow, ...]
    is_complete: bool
    has_returns: bool = True
    machines: tuple[Machine, ...] = ()


class RunsPoller:
    """Keeps the rows of the list. `poll` reads runs that are alive, a few that are new, and asks a
    few of those that ended whether their lock is held again; it raises nothing.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        runs: Callable[[], Sequence[Run]] = list_runs,
    ) -> None:
        self._now, self._runs = now, runs
        self._rows: dict[Run, RunRow] = {}
        self._notes: dict[Run, RecordedNotes] = {}
        self._next_check = 0

    def poll(self) -> RunsView:
        known = self._rows
        self._rows = {run: known.get(run) or RunRow(run) for run in self._runs()}
        rows = list(self._rows.values())
        unread = [row.run for row in rows if row.status is None]
        alive = [row.run for row in rows if row.status and row.status.is_alive]
        for run in [*alive, *self._resumed(rows), *unread[:NEW_AT_ONCE]]:
            self._rows[run] = replace(_looked_at(run, self._rows[run]), looked_s=self._now())
        self._read_notes()
        is_complete = len(unread) <= NEW_AT_ONCE
        now_s = self._now()
        has_returns = is_complete and self._read_returns(now_s)
        shown = tuple(row.at(now_s) for row in self._rows.values())
        return RunsView(shown, is_complete, has_returns)

    def _read_returns(self, now_s: float) -> bool:
        """Read those that were never read, and those of runs that went on; for a while. Returns
        whether all are there.
        """
        due = [run for run, row in self._rows.items() if _has_other_returns(row, now_s)]
        for run in due:
            returns = read_returns(run)
            self._rows[run] = replace(self._rows[run], returns=returns, returns_s=now_s)
            if self._now() - now_s >= RETURNS_FOR_S and run != due[-1]:
                return False
        return True

    def _read_notes(self) -> None:
        """Read the notes of all runs, also of unread ones: archived runs are never shown."""
        self._notes = {run: self._notes.get(run) or RecordedNotes(run) for run in self._rows}
        for run, row in self._rows.items():
            notes = self._notes[run].read()
            if notes is not row.notes:
                self._rows[run] = replace(row, notes=notes)

    def _resumed(self, rows: list[RunRow]) -> list[Run]:
        """Ended runs that a process holds again, among the next `CHECKED_AT_ONCE`."""
        ended = [row.run for row in rows if row.status and not row.status.is_alive]
        start = self._next_check if self._next_check < len(ended) else 0
        self._next_check = start + CHECKED_AT_ONCE
        checked = ended[start : self._next_check]
        return [run for run in checked if _is_held(run)]


def all_rows(poll: Callable[[], RunsView]) -> list[RunRow]:
    """The rows of a list once every run was looked at."""
    while not (view := poll()).is_complete:
        pass
    return list(view.rows)


def _has_other_returns(row: RunRow, now_s: float) -> bool:
    """Whether the returns of a run are others than those that were read, as far as is known."""
    if row.status is None or not main_metric(row.status.metrics):
        return False
    if row.status.is_alive:
        return now_s - row.returns_s >= RETURNS_EVERY_S
    return row.returns_s < row.looked_s


def _is_held(run: Run) -> bool:
    if isinstance(run, RunElsewhere):
        return status_of(run, None).is_alive
    try:
        return lock_holder(run.lock_path) is not None
    except OSError:  # a file system without locks
        return False


def _looked_at(run: Run, known: RunRow) -> RunRow:
    """The run's row; if it cannot be read, the row that was known, with the reason."""
    try:
        return _look_at(run, known)
    # A folder is what anyone may have copied there, and the list shows all other runs.
    except Exception as error:
        message = f"cannot be looked at: {one_line(str(error), 200) or type(error).__name__}"
        status = known.status or RunStatus(run.id, "crashed")
        return replace(known, status=replace(status, message=message))


def _look_at(run: Run, known: RunRow) -> RunRow:
    """A run's row; its manifest is read again once it is written anew, as with its device."""
    status = status_in_list(run)
    row = replace(known, status=status, is_page_expected=os.path.exists(run.place_path))
    written = run.manifest_written()
    if known.status is not None and written in (None, known.described_by):
        return row
    manifest = run.manifest()
    config = dict(dotted(manifest.get("config", {}))) | _sweep_of(manifest)
    device = manifest.get("device") or config.get("device") or ""
    name = str(manifest.get("name", ""))[:MAX_NAME_CHARACTERS]
    device = str(device)[:MAX_DEVICE_CHARACTERS]
    return replace(row, described_by=written, device=device, config=config, given_name=name)


def _sweep_of(manifest: Mapping[str, Any]) -> dict[str, object]:
    """`sweep` and `trial` of a sweep's run, as if they were keys of its configuration."""
    sweep = manifest.get("sweep")
    if not isinstance(sweep, Mapping):
        return {}
    return {
        key: sweep[name] for key, name in (("sweep", "name"), ("trial", "trial")) if name in sweep
    }
