"""Beginning the run of a training loop that is not operant's: a new one, or one that continues."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import OperantError, PageError, RunFolderError, UsageError
from ..messages import log_warning
from ..page.page_file import make_page_folder, page_folder
from ..page.reader import Snapshot
from ..page.writer import DEFAULT_MAX_METRICS
from ..processes.lock import RunLock
from ..runs.find_runs import own_runs
from ..runs.provenance import code_files, provenance
from ..runs.recorder_process import RecorderSettings
from ..runs.run_folder import Run, create_run, memory_runs_folder
from ..runs.session import RunSession
from ..runs.status import holder_of, open_page
from ..text.plain_values import described_error
from .current_run import open_run
from .logged_run import LoggedRun

UNKNOWN_INTERVAL_S = 0.0

# Libraries whose version run.toml has if the loop has imported them, by module.
_LIBRARIES = {
    "operant": "operant-rl", "numpy": "numpy", "torch": "torch", "jax": "jax",
    "tensorflow": "tensorflow", "gymnasium": "gymnasium",
    "stable_baselines3": "stable_baselines3", "lightning": "lightning",
    "pytorch_lightning": "pytorch-lightning",
}  # fmt: skip


class RunOptions(NamedTuple):
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


def begin_run(options: RunOptions) -> LoggedRun:
    """Begin a new run, or continue the one that `options` names.

    Raises UsageError for wrong arguments. A full disk or a folder that cannot be written does not
    end the loop: it gives a warning, and a run that keeps nothing.
    """
    if options.resume not in (None, "allow", "must", "never"):
        raise UsageError(f"resume = '{options.resume}' is unknown: expected allow, must or never")
    try:
        known = _run_called(options.id) if options.id else None
        if known and options.resume in ("allow", "must"):
            return _continued(options, known)
        if options.resume == "must":
            raise UsageError(f"resume = 'must', but there is no run '{options.id or ''}'")
        if known and options.resume == "never":
            raise UsageError(
                f"resume = 'never', but there is a run '{options.id}' already: {known.id}"
            )
        return _new(options)
    except Exception as error:
        if isinstance(error, UsageError) and not isinstance(error, RunFolderError):
            raise
        with contextlib.suppress(Exception):
            text = error if isinstance(error, OperantError) else described_error(error)
            log_warning(f"{text}; the loop goes on, and nothing of it is kept")
        return disabled_run(options)


def disabled_run(options: RunOptions) -> LoggedRun:
    """A run that keeps nothing."""
    return LoggedRun(
        None, {"name": options.name, **options.details, "config": dict(options.config)}
    )


def open_or_begin(run: LoggedRun | None, name: str) -> LoggedRun:
    """`run` while it is open, else the open run of this process, else a new one."""
    return run if run and run.is_open else open_run() or begin_run(RunOptions(name))


def _new(options: RunOptions) -> LoggedRun:
    manifest = {
        "name": options.name,
        **({"given_id": options.id} if options.id else {}),
        **provenance(_imported_libraries()),
        **options.details,
        "config": dict(options.config),
    }
    run, lock = _created(options.name, manifest)
    try:
        return _started(options, run, lock, {"id": run.id, **manifest})
    except BaseException:
        shutil.rmtree(run.folder, ignore_errors=True)
        raise


def _created(name: str, manifest: dict[str, Any]) -> tuple[Run, RunLock]:
    """The folder of a new run: in memory where it cannot be on the disk."""
    try:
        return create_run(name, manifest, files=code_files())
    except RunFolderError as error:
        folder = memory_runs_folder()
        try:
            make_page_folder(page_folder())
            run, lock = create_run(name, manifest, parent=folder)
        except OperantError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            raise error from None
        log_warning(f"{error}; the loop goes on, kept in memory: {run.folder}")
        return run, lock


def _continued(options: RunOptions, run: Run) -> LoggedRun:
    """Continue a run that has ended, in its folder and with its curves."""
    if holder_of(run):
        raise UsageError(f"{run.id} is still running; it can be resumed when it has ended")
    lock = RunLock(run.lock_path)
    try:
        manifest = run.read_manifest()
        manifest["config"] = {**manifest.get("config", {}), **options.config}
        manifest.setdefault("resumed", []).append(provenance(_imported_libraries()))
        run.replace_files(code_files(), len(manifest["resumed"]))
        run.write_manifest(manifest)
    except BaseException:
        lock.release()
        raise
    snapshot = None
    with contextlib.suppress(PageError):
        reader = open_page(run)
        options = options._replace(
            max_metrics=max(options.max_metrics, reader.header.layout.max_metrics)
        )
        snapshot = reader.read()
        reader.detach()
    return _started(options, run, lock, manifest, snapshot)


def _started(
    options: RunOptions,
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
            publish_interval_s=options.publish_interval_s,
            max_metrics=options.max_metrics,
            ends_with_process=True,
            continue_from=snapshot.publish if snapshot else None,
            recorder=None if is_in_memory else RecorderSettings(),
            console=options.console and not is_in_memory,
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


def _imported_libraries() -> list[str]:
    return [name for module, name in _LIBRARIES.items() if module in sys.modules]


def _run_called(run_id: str) -> Run | None:
    """The newest run of this user with this id, of operant or of its loop."""
    for run in own_runs():
        if run_id in (run.id, run.manifest().get("given_id")):
            return run
    return None
