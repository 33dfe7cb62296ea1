"""Beginning the run of a training loop that is not operant's: a new one, or one that continues."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import OperantError, PageError, RunFolderError, UsageError
from ..page.page_file import make_page_folder, page_folder
from ..page.reader import Snapshot
from ..page.writer import DEFAULT_MAX_METRICS
from ..processes.lock import RunLock
from ..runs.find_runs import own_runs
from ..runs.provenance import provenance, what_ran
from ..runs.recorder_process import RecorderSettings
from ..runs.run_folder import Run, create_run, memory_runs_folder
from ..runs.session import RunSession, warn_on_stderr
from ..runs.status import holder_of, open_page
from ..text.plain_values import described_error
from .current_run import open_run
from .logged_run import LoggedRun

UNKNOWN_INTERVAL_S = 0.0

# Libraries whose version run.toml has if the loop has imported them, by module.
_NOTED = {
    "operant": "operant-rl", "numpy": "numpy", "torch": "torch", "jax": "jax",
    "tensorflow": "tensorflow", "gymnasium": "gymnasium",
    "stable_baselines3": "stable_baselines3", "lightning": "lightning",
    "pytorch_lightning": "pytorch-lightning",
}  # fmt: skip


class Wanted(NamedTuple):
    """The arguments of a run. `id` is the loop's own name for it, or that of an existing run;
    `resume` is None, allow, must or never, as in wandb.
    """

    name: str
    details: Mapping[str, Any] = {}
    config: Mapping[str, Any] = {}
    id: str | None = None
    resume: str | None = None
    publish_interval_s: float = UNKNOWN_INTERVAL_S
    max_metrics: int = DEFAULT_MAX_METRICS
    console: bool = False


def script_name() -> str:
    """The name of the running script, without its folder and ending."""
    return Path(sys.argv[0]).stem.strip("-") or "run"


def begin_run(wanted: Wanted) -> LoggedRun:
    """Begin a new run, or continue the one that `wanted` names.

    Raises UsageError for wrong arguments. A full disk or a folder that cannot be written does not
    end the loop: it gives a warning, and a run that keeps nothing.
    """
    if wanted.resume not in (None, "allow", "must", "never"):
        raise UsageError(f"resume = '{wanted.resume}' is unknown: expected allow, must or never")
    try:
        known = _run_called(wanted.id) if wanted.id else None
        if known and wanted.resume in ("allow", "must"):
            return _continued(wanted, known)
        if wanted.resume == "must":
            raise UsageError(f"resume = 'must', but there is no run '{wanted.id or ''}'")
        if known and wanted.resume == "never":
            raise UsageError(
                f"resume = 'never', but there is a run '{wanted.id}' already: {known.id}"
            )
        return _new(wanted)
    except Exception as error:
        if isinstance(error, UsageError) and not isinstance(error, RunFolderError):
            raise
        with contextlib.suppress(Exception):
            text = error if isinstance(error, OperantError) else described_error(error)
            warn_on_stderr(f"{text}; the loop goes on, and nothing of it is kept")
        return disabled_run(wanted)


def disabled_run(wanted: Wanted) -> LoggedRun:
    """A run that keeps nothing."""
    return LoggedRun(None, {"name": wanted.name, **wanted.details, "config": dict(wanted.config)})


def open_or_begin(run: LoggedRun | None, name: str) -> LoggedRun:
    """`run` while it is open, else the open run of this process, else a new one."""
    return run if run and run.is_open else open_run() or begin_run(Wanted(name))


def _new(wanted: Wanted) -> LoggedRun:
    manifest = {
        "name": wanted.name,
        **({"given_id": wanted.id} if wanted.id else {}),
        **provenance(_noted_libraries()),
        **wanted.details,
        "config": dict(wanted.config),
    }
    run, lock = _created(wanted.name, manifest)
    try:
        return _started(wanted, run, lock, {"id": run.id, **manifest})
    except BaseException:
        shutil.rmtree(run.folder, ignore_errors=True)
        raise


def _created(name: str, manifest: dict[str, Any]) -> tuple[Run, RunLock]:
    """The folder of a new run: in memory where it cannot be on the disk."""
    try:
        return create_run(name, manifest, files=what_ran())
    except RunFolderError as error:
        folder = memory_runs_folder()
        try:
            make_page_folder(page_folder())
            run, lock = create_run(name, manifest, parent=folder)
        except OperantError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise error from None
        warn_on_stderr(f"{error}; the loop goes on, kept in memory: {run.folder}")
        return run, lock


def _continued(wanted: Wanted, run: Run) -> LoggedRun:
    """Continue a run that has ended, in its folder and with its curves."""
    if holder_of(run):
        raise UsageError(f"{run.id} is still running; it can be resumed when it has ended")
    lock = RunLock(run.lock_path)
    try:
        manifest = run.read_manifest()
        manifest["config"] = {**manifest.get("config", {}), **wanted.config}
        manifest.setdefault("resumed", []).append(provenance(_noted_libraries()))
        run.replace_files(what_ran(), len(manifest["resumed"]))
        run.write_manifest(manifest)
    except BaseException:
        lock.release()
        raise
    snapshot = None
    with contextlib.suppress(PageError):
        reader = open_page(run)
        wanted = wanted._replace(
            max_metrics=max(wanted.max_metrics, reader.header.layout.max_metrics)
        )
        snapshot = reader.read()
        reader.detach()
    return _started(wanted, run, lock, manifest, snapshot)


def _started(
    wanted: Wanted,
    run: Run,
    lock: RunLock,
    manifest: dict[str, Any],
    snapshot: Snapshot | None = None,
) -> LoggedRun:
    """The run with its page and recorder; with a snapshot of its former page it continues there.
    If this fails, nothing holds `lock` any more.
    """
    is_in_memory = run.folder.parent == memory_runs_folder()  # where files would take memory
    session = None
    try:
        session = RunSession(
            run,
            lock,
            publish_interval_s=wanted.publish_interval_s,
            max_metrics=wanted.max_metrics,
            ends_with_process=True,
            continue_from=snapshot.publish if snapshot else None,
            recorder=None if is_in_memory else RecorderSettings(),
            console=wanted.console and not is_in_memory,
        )
        if snapshot is None:
            return LoggedRun(session, manifest)
        return LoggedRun(session, manifest, iteration=snapshot.iteration, step=snapshot.env_steps)
    except BaseException:
        if session:
            session.abandon()
        else:
            lock.release()
        raise


def _noted_libraries() -> list[str]:
    return [name for module, name in _NOTED.items() if module in sys.modules]


def _run_called(wanted_id: str) -> Run | None:
    """The newest run of this user with this id, of operant or of its loop."""
    for run in own_runs():
        if wanted_id in (run.id, run.manifest().get("given_id")):
            return run
    return None
