"""The status of a run, from its lock, its page and its folder."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..errors import NoPageError, PageError
from ..page.life_signs import LifeSigns
from ..page.page_place import page_path, page_place
from ..page.reader import MetricsReader, Snapshot
from ..processes.host import boot_id, is_process_stopped, process_start
from ..processes.lock import LAUNCHER, TRAINER, Holder, is_held, lock_holder
from ..text.harmless import one_line
from .outcome import Outcome
from .owners import opened_folder, owners_of
from .run_elsewhere import RunElsewhere
from .run_folder import PULLED_FROM, Run

RunState = Literal["running", "stalled", "crashed", "finished", "stopped", "failed", "ended"]

ENV_STEPS_PER_S = "speed/env_steps_per_s"
AVERAGE_ENV_STEPS_PER_S = "speed/average_env_steps_per_s"
PROGRESS_FRACTION = "progress/fraction"
ETA_S = "progress/eta_s"


@dataclass(frozen=True)
class RunStatus:
    """One look at a run. None stands for what is not known; `age_s` is since the last publish.

    `phase` is what a run that is alive does, one of `phase.PHASES`, for `phase_s` seconds by now,
    `phase_done` of `phase_total` in `phase_unit`s where it counts them, and for about
    `phase_left_s` more where that can be estimated.
    """

    run: str
    state: RunState
    age_s: float | None = None
    iteration: int | None = None
    env_steps: int | None = None
    env_steps_per_s: float | None = None
    progress_fraction: float | None = None
    eta_s: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    message: str = ""
    phase: str | None = None
    phase_s: float | None = None
    phase_done: int | None = None
    phase_total: int | None = None
    phase_unit: str = ""
    phase_left_s: float | None = None

    @property
    def is_alive(self) -> bool:
        return self.state in ("running", "stalled")

    def __repr__(self) -> str:
        known = {name: value for name, value in vars(self).items() if value not in (None, "", ())}
        known["metrics"] = f"<{len(self.metrics)} metrics>"
        return f"RunStatus({', '.join(f'{name}={value}' for name, value in known.items())})"

    def as_fields(self) -> dict[str, Any]:
        """All fields by name."""
        return dict(vars(self))

    def as_json(self) -> dict[str, Any]:
        """For `json.dumps`: NaN and infinity become null."""
        return {name: json_value(value) for name, value in self.as_fields().items()}


@dataclass(frozen=True)
class RunReport:
    """The report of the machine of a `RunElsewhere`, beside the run's files. `received_ns` is
    when it came, by this machine's monotonic clock; `returns` are the main metric over the run.
    """

    status: RunStatus
    is_page_expected: bool = True
    is_recorded: bool = True
    num_media: int = 0
    returns: tuple[float, ...] = ()
    received_ns: int = 0


def json_value(value: Any) -> Any:
    """`value` with what JSON has no number for as None."""
    if isinstance(value, dict):
        return {name: json_value(v) for name, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def open_page(run: Run) -> MetricsReader:
    """Attach to a run's page: in memory, through its process, or the copy in the run folder, which
    is all there is of a run on another machine.

    Raises NoPageError when there is none, and PageError when none of them can be read; the text
    tells of the best of them.
    """
    if isinstance(run, RunElsewhere):
        return MetricsReader.attach(run.page_copy_path)
    place, owners = page_place(run), owners_of(run.folder)
    in_memory = [page_path(run)]
    if place.get("page"):
        in_memory.insert(0, Path(place["page"]))
    through_process = None
    pid, fd = place.get("pid"), place.get("fd")
    same_boot = place.get("boot_id") == boot_id().hex()
    if pid and same_boot and process_start(pid) == place.get("process_start"):
        through_process = Path(f"/proc/{pid}/fd/{fd}")

    first_error = None
    for path in dict.fromkeys([*in_memory, through_process, run.page_copy_path]):
        if path is None:
            continue
        try:
            if path in in_memory:  # others may have put a page there
                with opened_folder(path.parent, owners):
                    pass
            reader = MetricsReader.attach(path, owners, follow=path == through_process)
        except (PageError, OSError) as error:
            if isinstance(error, OSError):
                error = PageError(f"{error.filename} {error.strerror}: its pages are not read")
            if first_error is None and os.path.lexists(path):
                first_error = error
            continue
        if reader.header.run_id == run.id[:64]:
            return reader
        reader.detach()
        first_error = first_error or PageError(f"{path} is the page of another run")
    if first_error is None and PULLED_FROM in run.manifest():
        raise NoPageError(f"{run.id} was pulled: it has a policy, and no page or rows")
    raise first_error or NoPageError(f"{run.id} has no page yet")


def read_status(run: Run) -> RunStatus:
    """Open a run's page, look once, and let go of it."""
    try:
        reader = open_page(run)
    except PageError as error:
        return status_of(run, None, str(error))
    try:
        return status_of(run, reader)
    finally:
        reader.detach()


def status_in_list(run: Run) -> RunStatus:
    """The status of a run in a list, see `read_status`. Raises nothing: the message says what is
    wrong with the folder, which may have been copied from anywhere.
    """
    try:
        status = read_status(run)
    # One broken run must not hide the others, whatever its folder and its page hold.
    except Exception as error:
        status = RunStatus(run.id, "crashed", message=str(error) or type(error).__name__)
        return replace(status, message=f"unreadable: {one_line(status.message, 200)}")
    defect = run.defect()
    if defect:
        reasons = [f"unreadable: {defect}", *filter(None, [status.message])]
        return replace(status, message="; ".join(reasons))
    return status


def status_of(run: Run, reader: MetricsReader | None, page_error: str = "") -> RunStatus:
    """The status of a run whose page `reader` has open; None, with why, when it has no page."""
    if isinstance(run, RunElsewhere):
        return _reported_status(run, reader)
    # The lock first: a process writes its outcome before it lets go, so a free lock and no outcome
    # is a crash, whatever happened between the two looks.
    own, launcher = (lock_holder(run.lock_path, byte) for byte in (TRAINER, LAUNCHER))
    holder = own or launcher or _holder_of_page(run, reader)
    alive = holder is not None
    if reader is None:
        source = None if alive else run.manifest().get(PULLED_FROM)
        if isinstance(source, str):  # a policy that was trained elsewhere has no page
            message = f"pulled from {one_line(source, 200)}"
            return RunStatus(run.id, "finished", message=message)
        state: RunState = "running" if alive else "crashed"
        return RunStatus(run.id, state, message=run.made_by() or page_error)
    try:
        outcome = reader.outcome()
        is_resumed = outcome and holder and holder.pid not in (0, reader.header.pid)
        # A launcher waits, and nobody trains: the page is one that a crash left behind.
        if is_resumed or (launcher and not own and reader.read()):
            return RunStatus(run.id, "running", message="resuming")
        return _page_status(run, reader, outcome, holder, bool(own or launcher))
    except PageError as error:
        state = "running" if alive else "crashed"
        return RunStatus(run.id, state, message=str(error))


def _reported_status(run: RunElsewhere, reader: MetricsReader | None) -> RunStatus:
    """The status that the run's own machine reported last, with the age that it has by now and the
    numbers of the mirrored page.
    """
    report = run.report()
    if not report:
        return RunStatus(run.id, "running", message=f"connecting to {run.host}")
    status = RunStatus(**{**report["status"], "run": run.id})
    if status.age_s is not None:
        passed_s = (time.monotonic_ns() - report["received_ns"]) / 1e9
        status = replace(status, age_s=status.age_s + passed_s)
    snapshot = reader.read() if reader else None
    return with_numbers(status, snapshot, status.env_steps_per_s) if snapshot else status


def holder_of(run: Run) -> Holder | None:
    """The living process of `run`, by its lock, or by its page if the lock was deleted."""
    return lock_holder(run.lock_path) or _holder_by_page(run)


def _holder_by_page(run: Run) -> Holder | None:
    try:
        reader = open_page(run)
    except PageError:
        return None
    try:
        return _holder_of_page(run, reader)
    finally:
        reader.detach()


def _holder_of_page(run: Run, reader: MetricsReader | None) -> Holder | None:
    """The living process, by the lock of its page, if the run's lock or folder was deleted."""
    if reader is None or reader.header.place is None:
        return None
    if reader.header.place.path != Path(os.path.abspath(run.folder)) or not is_held(reader.fd):
        return None
    pid, start = reader.header.pid, reader.header.process_start
    return Holder(pid if start and process_start(pid) == start else 0)


def _page_status(
    run: Run,
    reader: MetricsReader,
    outcome: Outcome | None,
    holder: Holder | None,
    is_locked: bool,
) -> RunStatus:
    """The status of a run with a page and the living process `holder`. Raises PageError."""
    snapshot = reader.read()
    age_s = reader.age_s(snapshot) if snapshot else None
    signs = LifeSigns(reader, snapshot, age_s, reader.phase())
    state, message = _state(outcome, holder, signs)
    if holder and not is_locked:
        lost = "lock" if run.folder.exists() else "folder"
        message = message or f"its {lost} was deleted"
    status = RunStatus(run.id, state, age_s, message=message)
    if status.is_alive:
        status = replace(status, **signs.phase_fields())
    if snapshot is None:
        return status
    return with_numbers(status, snapshot, speed_at(reader, snapshot, status.is_alive))


def with_numbers(status: RunStatus, snapshot: Snapshot, env_steps_per_s: float | None) -> RunStatus:
    """`status` with the numbers of `snapshot`, all of one publish, and the speed at it. The time
    left is less by what has passed since; it is None once nothing of it remains, or the run stalls.
    """
    metrics = snapshot.metrics
    eta_s = metrics.get(ETA_S, math.nan) - (status.age_s or 0.0)
    return replace(
        status,
        iteration=None if snapshot.iteration < 0 else snapshot.iteration,
        env_steps=None if snapshot.env_steps < 0 else snapshot.env_steps,
        env_steps_per_s=env_steps_per_s,
        progress_fraction=metrics.get(PROGRESS_FRACTION),
        eta_s=eta_s if eta_s > 0 and status.state == "running" else None,
        metrics=metrics,
    )


def _state(
    outcome: Outcome | None, holder: Holder | None, signs: LifeSigns
) -> tuple[RunState, str]:
    """The state, and a word on why where there is one."""
    if outcome:
        return outcome.state, outcome.message
    if holder is None:
        return "crashed", "the process ended without saying why"
    if signs.silent_s is None:
        return "running", "starting"
    # A loop without a promised interval may be silent for any time.
    if signs.is_late or (not signs.promises_interval and is_process_stopped(holder.pid)):
        return "stalled", "alive, but nothing published"
    return "running", "" if signs.age_s is not None else "starting"


def speed_at(reader: MetricsReader, snapshot: Snapshot, is_alive: bool) -> float | None:
    """Env steps per second as the run says itself, else from its publishes: over the newest part
    of a run that is alive, over all of one that has ended.
    """
    said = snapshot.metrics.get(ENV_STEPS_PER_S if is_alive else AVERAGE_ENV_STEPS_PER_S, math.nan)
    if not math.isnan(said):
        return said
    if snapshot.env_steps < 0:
        return None
    of_pages = reader.env_steps_per_s if is_alive else reader.average_env_steps_per_s
    return of_pages(snapshot)
