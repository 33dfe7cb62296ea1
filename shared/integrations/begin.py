"""How the run of anyone's loop begins: a new one, or one that goes on."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..errors import OperantError, PageError, RunFolderError, UsageError
from ..page.page_file import make_page_folder, page_folder
from ..page.writer import DEFAULT_MAX_METRICS
from ..processes.lock import RunLock
from ..runs.find_runs import own_runs
from ..runs.provenance import provenance, what_ran
from ..runs.recorder_process import RecorderSettings
from ..runs.run_folder import Run, create_run, memory_runs_folder
from ..runs.session import RunSession, warn_on_stderr
from ..runs.status import holder_of, open_page
from ..text.plain_values import described_error
from .tracked_run import TrackedRun

UNKNOWN_INTERVAL_S = 0.0

# Libraries whose version a run notes when the loop has imported them, by module.
_NOTED = {
    "operant": "operant-rl", "numpy": "numpy", "torch": "torch", "jax": "jax",
    "tensorflow": "tensorflow", "gymnasium": "gymnasium",
    "stable_baselines3": "stable_baselines3", "lightning": "lightning",
    "pytorch_lightning": "pytorch-lightning",
}  # fmt: skip

AnyRun = TypeVar("AnyRun", bound=TrackedRun)


class Wanted(NamedTuple):
    """What a loop asks for. `id` is one that the loop gave itself, or that of an existing run;
    `resume` is None, allow, must or never, as people know it from wandb.
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
    """The script that runs, without its folder and ending."""
    return Path(sys.argv[0]).stem.strip("-") or "run"


def begin_run(make: type[AnyRun], wanted: Wanted) -> AnyRun:
    """Begin the run that is `wanted`, as an instance of `make`.

    Raises UsageError for what is asked wrongly. A disk that is full or a folder that cannot be
    written is no reason for a loop to end: it is warned of, and the run then keeps nothing.
    """
    _check(wanted)
    try:
        known = _run_called(wanted.id) if wanted.id else None
        if known and wanted.resume in ("allow", "must"):
            return _continued(make, wanted, known)
        _check_new(wanted, known)
        return _new(make, wanted)
    except Exception as error:
        if isinstance(error, UsageError) and not isinstance(error, RunFolderError):
            raise
        with contextlib.suppress(Exception):
            text = error if isinstance(error, OperantError) else described_error(error)
            warn_on_stderr(f"{text}; the loop goes on, and nothing of it is kept")
        return make(None, {"name": wanted.name, "config": dict(wanted.config)})


def _new(make: type[AnyRun], wanted: Wanted) -> AnyRun:
    manifest = _manifest(wanted)
    run, lock = _created(wanted.name, manifest)
    try:
        return _made(make, _session(run, lock, wanted), {"id": run.id, **manifest})
    except BaseException:
        shutil.rmtree(run.folder, ignore_errors=True)
        raise


def _created(name: str, manifest: dict[str, Any]) -> tuple[Run, RunLock]:
    """A folder in memory, where the disk takes none: the run is watched all the same."""
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


def _made(
    make: type[AnyRun], session: RunSession, manifest: dict[str, Any], iteration: int = 0,
    step: int = -1,
) -> AnyRun:  # fmt: skip
    try:
        return make(session, manifest, iteration=iteration, step=step)
    except BaseException:
        session.abandon()
        raise


def _continued(make: type[AnyRun], wanted: Wanted, run: Run) -> AnyRun:
    """A run that ended goes on in its folder, with its curves."""
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
    return _going_on(make, wanted, run, lock, manifest)


def _going_on(
    make: type[AnyRun], wanted: Wanted, run: Run, lock: RunLock, manifest: dict[str, Any]
) -> AnyRun:
    """From the last publish of the run's former page, where that can be read."""
    snapshot = None
    with contextlib.suppress(PageError):
        reader = open_page(run)
        wanted = wanted._replace(
            max_metrics=max(wanted.max_metrics, reader.header.layout.max_metrics)
        )
        snapshot = reader.read()
        reader.detach()
    if snapshot is None:
        return _made(make, _session(run, lock, wanted), manifest)
    session = _session(run, lock, wanted, continue_from=snapshot.publish)
    return _made(make, session, manifest, snapshot.iteration, snapshot.env_steps)


def _session(
    run: Run, lock: RunLock, wanted: Wanted, continue_from: int | None = None
) -> RunSession:
    try:
        return RunSession(
            run,
            lock,
            publish_interval_s=wanted.publish_interval_s,
            max_metrics=wanted.max_metrics,
            ends_with_process=True,
            continue_from=continue_from,
            recorder=None if _is_in_memory(run) else RecorderSettings(),
            console=wanted.console and not _is_in_memory(run),
        )
    except BaseException:
        lock.release()
        raise


def _is_in_memory(run: Run) -> bool:
    """Whether files of rows would take memory, more and more of it as long as the run lives."""
    return run.folder.parent == memory_runs_folder()


def _manifest(wanted: Wanted) -> dict[str, Any]:
    return {
        "name": wanted.name,
        **({"given_id": wanted.id} if wanted.id else {}),
        **provenance(_noted_libraries()),
        **wanted.details,
        "config": dict(wanted.config),
    }


def _noted_libraries() -> list[str]:
    return [name for module, name in _NOTED.items() if module in sys.modules]


def _run_called(wanted_id: str) -> Run | None:
    """The newest run of this user that has this id, or was given it by its loop."""
    for run in own_runs():
        if wanted_id in (run.id, run.manifest().get("given_id")):
            return run
    return None


def _check(wanted: Wanted) -> None:
    if wanted.resume not in (None, "allow", "must", "never"):
        raise UsageError(f"resume = '{wanted.resume}' is unknown: expected allow, must or never")


def _check_new(wanted: Wanted, known: Run | None) -> None:
    if wanted.resume == "must":
        raise UsageError(f"resume = 'must', but there is no run '{wanted.id or ''}'")
    if wanted.resume == "never" and known:
        raise UsageError(f"resume = 'never', but there is a run '{wanted.id}' already: {known.id}")
