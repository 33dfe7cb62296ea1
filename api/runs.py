"""Runs in Python: a handle for one run, the list of all runs, and their metrics."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..commands.helpers.output import headline
from ..commands.stop import stop_run
from ..shared.errors import RunNotFoundError, UsageError, check_argument
from ..shared.page.events import Event
from ..shared.page.reader import MetricsReader
from ..shared.runs.find_runs import check_is_free, find_run, latest_run, list_runs
from ..shared.runs.run_folder import Run as RunFolder
from ..shared.runs.run_folder import runs_folder
from ..shared.runs.run_notes import change_notes
from ..shared.runs.status import RunStatus, open_page, read_status
from ..shared.text.harmless import harmless
from ..shared.text.plain_values import described
from ..shared.text.typed_numbers import real_number
from .tracebacks import short_traceback

if TYPE_CHECKING:
    import pandas as pd

    from .policies import Policy

LOOK_AGAIN_S = 0.1
BY_STOP = "by run.stop()"  # what a run's status says of who has stopped it

# The runs that this process trains: from a run's id to the function that stops it, and the thread
# that trains. A signal would stop the whole process.
stops_here: dict[str, tuple[Callable[[], None], int]] = {}


class Run:
    """A run that is being trained, in this or another process, or that has ended.

    `operant.train` returns one, `operant.runs()` all. Its properties are read anew at every use.
    """

    def __init__(self, run: Run | RunFolder | Path | str = "latest") -> None:
        """`run` is an id, a name, a part of either that no other run has, or a folder."""
        self._run = folder_of(run)
        self._process: subprocess.Popen[bytes] | None = None  # the trainer's, begun by this one

    @property
    def id(self) -> str:
        """The run's id, such as `20261121-142530-cart_pole-ppo-k3f9`."""
        return self._run.id

    @property
    def name(self) -> str:
        """The name that a user gave the run, otherwise its id."""
        return self._run.name

    @property
    def folder(self) -> Path:
        """The folder with the run's checkpoints, rows and events."""
        return self._run.folder

    @property
    def state(self) -> str:
        """`running`, `stalled`, `crashed`, `finished`, `stopped`, `failed` or `ended`."""
        return self.status().state

    @property
    def config(self) -> dict[str, Any]:
        """All settings, tables as dicts: `run.config["num_envs"]`."""
        return dict(self._run.manifest().get("config", {}))

    @property
    def metrics(self) -> dict[str, float]:
        """The newest value of each metric, by its name."""
        return self.status().metrics

    @property
    def env_steps(self) -> int | None:
        """Env steps so far; None before the first publish."""
        return self.status().env_steps

    @property
    def iteration(self) -> int | None:
        """Finished iterations; None before the first publish."""
        return self.status().iteration

    def status(self) -> RunStatus:
        """One look at the run: its state, metrics, speed, time left and message, all of the same
        moment.
        """
        return read_status(self._run)

    @short_traceback
    def history(self) -> pd.DataFrame:
        """Every row that the run has published, as a pandas DataFrame.

        The columns are `publish`, `time`, `elapsed_s`, `iteration`, `env_steps` and one for each
        metric, which is NaN in rows without it. The run may still be training.

        Raises PageError if nothing of the run can be read.
        """
        from ..monitor.export.frame import frame

        return frame(self._run)

    def events(self) -> list[Event]:
        """The newest messages of the run, oldest first, each with a `level`, a `text`, and the time
        `wall_ns`. `events.log` in the run's folder has all. Raises PageError if they cannot be
        read.
        """
        page = open_page(self._run)
        try:
            return page.events()
        finally:
            page.detach()

    def page(self) -> MetricsReader:
        """The reader of the run's page, which shows every publish at once. Call its `detach` in the
        end. Raises PageError if there is no page.
        """
        return open_page(self._run)

    def policy(self, checkpoint: str | int = "newest") -> Policy:
        """The policy of a checkpoint; see `operant.load`, which takes more arguments."""
        policies = importlib.import_module(".policies", __package__)  # which imports PyTorch
        loaded: Policy = policies.load(self, checkpoint=checkpoint)
        return loaded

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

    def edit(
        self,
        *,
        name: str | None = None,
        note: str | None = None,
        tags: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> None:
        """Change what people say of the run; arguments that are left out change nothing. `name` is
        shown in place of the id, "" for the id again; `tags` replace all tags; lists leave an
        archived run out. Raises UsageError if another run has the name, or for a value that is not
        allowed.
        """
        changes: dict[str, Any] = {}
        if name is not None:
            check_argument("name", name, str, "text")
            changes["name"] = " ".join(name.split())
            if changes["name"]:
                check_is_free(changes["name"], self.id)
        if note is not None:
            check_argument("note", note, str, "text")
            changes["note"] = note
        if tags is not None:
            check_argument("tags", tags, (list, tuple), "a list of words")
            changes["tags"] = tuple(tags)
        if archived is not None:
            check_argument("archived", archived, bool, "True or False")
            changes["is_archived"] = archived
        change_notes(self.folder, lambda notes: replace(notes, **changes))

    def _is_in_its_thread(self) -> bool:
        return stops_here.get(self.id, (None, 0))[1] == threading.get_ident()

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


@short_traceback
def runs(filter: str = "", *, archived: bool = False) -> list[Run]:
    """The runs on this machine that are not archived, newest first; with `archived`, those that
    are. `filter` is as in the monitor's list: "cart state:running return>400". Raises UsageError if
    it is wrong.
    """
    check_argument("filter", filter, str, "text, as 'tag:baseline'")
    check_argument("archived", archived, bool, "True or False")
    if not filter:
        return [Run(run) for run in list_runs() if run.notes().is_archived == archived]
    if archived:
        raise UsageError("archived = True: write archived:yes in the filter")
    from ..monitor.remote.remote_list import list_machines
    from ..monitor.runs.list.filter_terms import FilterError, parse_filter
    from ..monitor.runs.list.run_filter import filtered

    rows, _ = list_machines([])
    try:
        return [Run(row.run) for row in filtered(rows, parse_filter(filter))]
    except FilterError as error:
        raise UsageError(f"filter = {described(filter)}: {error}") from None


def folder_of(run: Run | RunFolder | str | Path | None) -> RunFolder:
    """The folder of `run`: a handle, an id, a name, a part of either that no other run has, or a
    folder. None and "latest": the latest run. Raises RunNotFoundError and UsageError.
    """
    if run is None or run == "latest":
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
