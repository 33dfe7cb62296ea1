"""Runs in Python: a handle for one run, the list of all runs, and their metrics."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..commands.helpers.output import headline
from ..commands.stop import stop_run
from ..shared.errors import RunNotFoundError, UsageError
from ..shared.runs.find_runs import find_run, latest_run, list_runs
from ..shared.runs.run_folder import Run as RunFolder
from ..shared.runs.run_folder import runs_folder
from ..shared.runs.status import RunStatus, read_status
from ..shared.text.harmless import harmless
from ..shared.text.plain_values import described
from ..shared.text.typed_numbers import real_number
from .tracebacks import short_traceback

if TYPE_CHECKING:
    import pandas as pd

LOOK_AGAIN_S = 0.1
BY_STOP = "by run.stop()"  # what a run's status says of who has stopped it

# The runs that this process trains: from a run's id to the function that stops it, and the thread
# that trains. A signal would stop the whole process.
stops_here: dict[str, tuple[Callable[[], None], int]] = {}


class Run:
    """A run that is being trained, in this or another process, or that has ended.

    `operant.train` returns one, `operant.runs()` all. It only reads what the run publishes; `stop`
    is the only method that changes a run.
    """

    def __init__(
        self, folder: RunFolder | Path | str, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        """`process` is the trainer's process, if this process started it."""
        if folder is None:  # which is the latest run elsewhere
            raise UsageError("run = None: expected a run, its id or name, or its folder")
        self._run = folder_of(folder)
        self._process = process

    @property
    def id(self) -> str:
        """The run's id, such as `20261121-142530-cart_pole-ppo-k3f9`."""
        return self._run.id

    @property
    def folder(self) -> Path:
        """The folder with the run's checkpoints, rows and events."""
        return self._run.folder

    def status(self) -> RunStatus:
        """The current `state`, `env_steps`, `metrics` (name to newest value), `message` etc."""
        return read_status(self._run)

    def wait(self, timeout_s: float | None = None) -> RunStatus:
        """Wait until the run has ended, or for `timeout_s` seconds, and return its status. Raises
        UsageError in the run's own callbacks and environments, which it would wait for.
        """
        if self._is_in_its_thread():
            raise UsageError(f"{self.id}: wait in a callback of the run itself would never return")
        timeout_s = None if timeout_s is None else real_number("timeout_s", timeout_s, 0.0)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while (status := self.status()).is_alive:
            if deadline is not None and time.monotonic() >= deadline:
                return status
            time.sleep(LOOK_AGAIN_S)
        if self._process is not None:  # it has released the run and is about to exit
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        return status

    def stop(self) -> RunStatus:
        """Stop the run after its iteration, save a checkpoint, and return its status. In the run's
        own callbacks this returns at once, and the run stops later.

        Raises OperantError if it has not stopped within half a minute, or if it runs on a machine
        that cannot be reached.
        """
        if self.id in stops_here:
            stops_here[self.id][0]()
        else:
            stop_run(self._run, BY_STOP)
        return self.status() if self._is_in_its_thread() else self.wait()

    def _is_in_its_thread(self) -> bool:
        return stops_here.get(self.id, (None, 0))[1] == threading.get_ident()

    def history(self) -> pd.DataFrame:
        """All rows of this run; see `operant.history`."""
        return history(self)

    def __eq__(self, other: object) -> bool:
        return type(other) is Run and other._run == self._run

    def __hash__(self) -> int:
        return hash(self._run)

    def __repr__(self) -> str:
        return harmless(f"<operant.Run {self.id}: {headline(self.status())}>")

    def _repr_html_(self) -> str:
        """HTML that notebooks display: the curve of its returns, the lines of `operant status`."""
        from .notebook import run_html

        return run_html(self._run)


def runs() -> list[Run]:
    """All runs on this machine except archived ones, newest first."""
    return [Run(run) for run in list_runs() if not run.notes().is_archived]


@short_traceback
def history(run: Run | str | Path | None = None) -> pd.DataFrame:
    """Every row that a run has published, as a pandas DataFrame. Default: the latest run.

    The columns are `publish`, `time`, `elapsed_s`, `iteration`, `env_steps` and one for each
    metric, which is NaN in rows without it. The run may still be training.

    Raises PageError if nothing of the run can be read.
    """
    from ..monitor.export.frame import frame

    return frame(folder_of(run))


def folder_of(run: Run | RunFolder | str | Path | None) -> RunFolder:
    """The folder of `run`: a handle, an id, a name, a part of either that no other run has, or a
    folder. None: the latest run. Raises RunNotFoundError and UsageError.
    """
    if run is None:
        return latest_run()
    if type(run) is Run:
        return run._run
    if isinstance(run, RunFolder):
        return run
    if not isinstance(run, str | os.PathLike):
        raise UsageError(
            f"run = {described(run)}: expected a run, its id or name, or its folder; "
            "operant.runs() lists all"
        )
    if isinstance(run, os.PathLike) or os.sep in run:
        folder = RunFolder(Path(run).absolute())
        if not os.path.exists(folder.manifest_path):
            raise RunNotFoundError(f"{run!s:.200} is not the folder of a run: it has no run.toml")
        return folder
    return find_run(run)


def listed(run: RunFolder) -> RunFolder:
    """`run` as `runs` lists it. Raises UsageError for a folder elsewhere: a page has the run's id
    for its name, so that a copy of a run would take the page of its original.
    """
    folder = run.folder.resolve()
    for known in list_runs():
        if known.folder.resolve() == folder:
            return known
    raise UsageError(
        f"{run.folder} is not in {runs_folder()}: a run is resumed there, under its own id"
    )
