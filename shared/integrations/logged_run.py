"""The run of a training loop that is not operant's: what `operant.init` returns.

It takes all calls that wandb's run takes.
"""

from __future__ import annotations

import contextlib
import glob
import math
import operator
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..messages import log_warning
from ..page.events import LEVELS, Level
from ..page.schema import Metric
from ..runs.session import RunSession
from ..text.plain_values import described, described_error, is_true, text_of
from . import process_end
from .accepted import Accepted, stand_in, unknown_keywords
from .artifacts import Artifact, copy_file
from .media import MediaWriter, Text
from .media_folder import clean
from .never_raising import never_raises, never_raising
from .process_end import Ending, ending_of
from .record import Record
from .step_metrics import StepMetrics
from .values import flattened, number_of

PENDING_S = 0.1  # the longest that a step waits for more of its values
MAX_STEP = 2**63 - 1
MAX_WARNINGS = 100  # of one run: a loop may find ever new ways to be warned of


class AlertLevel(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


_LEVELS: dict[str, Level] = {"INFO": "info", "WARN": "warning", "ERROR": "error"}


def _manifest_entry(name: str, default: Any) -> property:
    """A property of the run that is kept in run.toml."""

    def get(self: LoggedRun) -> Any:
        return self._manifest.get(name, default)

    def put(self: LoggedRun, value: Any) -> None:
        self._manifest[name] = value
        self._write_manifest()

    return property(get, put)


@never_raising
class LoggedRun:
    """Publishes the values that a training loop logs, one row per step, from any thread. No method
    raises.

    In a forked child, after its end, and where no run could be made, it does nothing.
    """

    name = _manifest_entry("name", "")
    project = _manifest_entry("project", "")
    entity = _manifest_entry("entity", None)
    group = _manifest_entry("group", "")
    job_type = _manifest_entry("job_type", "")
    notes = _manifest_entry("notes", None)

    def __init__(
        self,
        session: RunSession | None,
        manifest: dict[str, Any],
        *,
        iteration: int = 0,
        step: int = -1,
    ) -> None:
        """Log into `session`; None gives a run that keeps nothing. `manifest` is what run.toml
        holds. A continued run goes on from `iteration` and `step`.
        """
        self._session, self._manifest = session, manifest
        self._run = session.run if session else None
        self.resumed = iteration > 0
        self._iteration, self._step = iteration, step
        self._is_step_over = step >= 0  # values without a step belong to the next one
        self._lock = threading.RLock()  # a signal's handler may end the run in the middle of a log
        # The log under way, and those that a signal's handler begins in its middle.
        self._logs: deque[tuple[Any, Any, Any]] = deque()
        self._is_logging = False
        self._pid = os.getpid()
        self._is_open = session is not None
        self._pending: dict[str, float] = {}
        self._pending_since_s = 0.0
        self._has_pending = threading.Event()
        self._publisher: threading.Thread | None = None
        self._names: set[str] = set()
        self._step_metrics = StepMetrics()
        self._texts: dict[str, str] = {}
        self._warned: set[str] = set()
        self._num_warnings = 0
        self._objects = MediaWriter(Path(self.dir), self.warn_once)
        self._latest: dict[str, Any] = manifest.setdefault("summary", {})
        self.config = Record(
            manifest.setdefault("config", {}), self._write_manifest, self.warn_once
        )
        self.summary = Record(self._latest, self._write_manifest, self.warn_once)
        if session is not None:
            process_end.end_with_process(self)

    @property
    def id(self) -> str:
        """The id for `operant status`; empty for a run that keeps nothing."""
        return self._run.id if self._run else ""

    @property
    def dir(self) -> str:
        """The run's folder; files may be put there."""
        return str(self._run.folder) if self._run else tempfile.gettempdir()

    @property
    def step(self) -> int:
        """The step of the next row: the newest step, or one more once its row is complete. If no
        step was ever given, the number of rows.
        """
        return self._iteration if self._step < 0 else self._step + self._is_step_over

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self._manifest.get("tags", ()))

    @tags.setter
    @never_raises()
    def tags(self, tags: Iterable[str]) -> None:
        self._manifest["tags"] = [tags] if isinstance(tags, str) else [text_of(tag) for tag in tags]
        self._write_manifest()

    @property
    def disabled(self) -> bool:
        """Whether nothing is kept."""
        return self._run is None

    @property
    def is_open(self) -> bool:
        """Whether values that this process logs are still kept."""
        return self._is_open and os.getpid() == self._pid

    def log(
        self,
        data: Mapping[str, Any] | None = None,
        step: int | None = None,
        commit: bool | None = None,
        sync: bool | None = None,
        **unknown: Any,
    ) -> None:
        """Publish `data`, which may be nested. Values of one `step` go together in one row: it is
        published when another step comes, when one of its names comes again, with `commit=True`, or
        after 0.1 s. Without a step the row is complete, unless `commit=False`; pending values are
        not overwritten either. After a complete row whose step was given, the next without one has
        the step that follows. Without data, `commit=True` publishes the pending row.
        """
        unknown_keywords("log", unknown)
        if not self.is_open:
            if self._run and os.getpid() == self._pid:
                self.warn_once("closed", f"{self.id} is over: what is logged to it is not kept")
            return
        process_end.forget_error()
        with self._lock:
            self._logs.append(({} if data is None else data, step, commit))
            if self._is_logging:  # called by a signal's handler: its row comes next
                return
            self._is_logging = True
            try:
                while self._logs:
                    self._log(*self._logs.popleft())
            finally:
                self._is_logging = False

    def event(self, level: Level, text: str) -> None:
        """Add a message to the run. `level` is debug, info, warning or error; others mean info."""
        if self.is_open:
            with self._lock:
                level = level if level in LEVELS else "info"
                self._session_metrics.event(level, text_of(text), self._step)

    def alert(
        self, title: str, text: str = "", level: str = "INFO", wait_duration: Any = 0
    ) -> None:
        """Add a message to the run; `level` is INFO, WARN or ERROR."""
        parts = [words for part in (title, text) if (words := text_of(part))]
        self.event(_LEVELS.get(text_of(level), "info"), ": ".join(parts))

    def define_metric(self, name: Any, step_metric: Any = None, *_: Any, **__: Any) -> Any:
        """Draw metric `name`, or all that match `prefix/*`, over `step_metric`, whose newest value
        is added to each row that has such a metric. wandb's other arguments have no effect.
        """
        name = text_of(name)
        step = "" if step_metric is None else text_of(getattr(step_metric, "name", step_metric))
        if step and self.is_open:
            with self._lock:
                for known in self._step_metrics.define(name, step):
                    over = self._step_metrics.of(known)
                    self._session_metrics.describe(Metric(known, step_metric=over))
        return SimpleNamespace(name=name, step_metric=step or None)

    def flush(self) -> None:
        """Publish the row that still waits for more values of its step."""
        if self.is_open:
            with self._lock:
                if self._pending and not self._is_logging:
                    self._publish()

    def finish(
        self, exit_code: int | None = None, quiet: bool | None = None, **unknown: Any
    ) -> None:
        """End the run; with an exit code other than 0 it has failed."""
        unknown_keywords("finish", unknown)
        number = number_of(exit_code)  # also one of numpy
        code = exit_code if number is None or not math.isfinite(number) else int(number)
        self.end(ending_of(SystemExit(code)))

    def end(self, ending: Ending) -> None:
        if not self.is_open:
            return
        with self._lock:
            self.flush()
            if ending.traceback:
                self.event("error", ending.traceback)
            self._write_manifest()
            self._is_open = False
            process_end.forget(self)
            self._has_pending.set()
            assert self._session
            try:
                self._session.close(
                    ending.state,
                    ending.exit_code,
                    ending.message,
                    is_provisional=ending.is_provisional,
                )
            except Exception as error:  # for example, the loop has closed all descriptors
                self.warn_once("close", f"cannot end {self.id} well: {described_error(error)}")
            # Frees the page's memory, also if the script keeps the ended run.
            self._session = None

    def __enter__(self) -> LoggedRun:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.end(ending_of(error))

    def warn_once(self, key: str, text: str) -> None:
        """Print `text` on standard error and add it to the run's events, the first time for `key`.
        Raises nothing.
        """
        if key in self._warned:
            return
        self._warned.add(key)
        self._num_warnings += 1
        if self._num_warnings > MAX_WARNINGS:
            return
        if self._num_warnings == MAX_WARNINGS:
            text = f"{text}; further warnings are not shown"
        with contextlib.suppress(Exception):  # standard error may be closed
            log_warning(text)
        self.event("warning", text)

    _warn_once = warn_once  # for `never_raises`

    def watch(self, *_: Any, **__: Any) -> None:
        """Accepted, without effect."""
        self.warn_once("watch", "watch() is accepted and has no effect: gradients are not logged")

    @never_raises(Artifact())
    def log_artifact(
        self, artifact_or_path: Any, name: str | None = None, *_: Any, **__: Any
    ) -> Artifact:
        """Copy the files of an artifact, or of a path, into the run's folder: `files/<name>/`."""
        if isinstance(artifact_or_path, Artifact):
            artifact = artifact_or_path
        elif not os.fspath(artifact_or_path):
            raise ValueError("the path of an artifact is empty")
        else:
            path = Path(artifact_or_path)
            artifact = Artifact(name or path.name)
            add = artifact.add_dir if path.is_dir() else artifact.add_file
            add(path)
        folder = clean(artifact.name)
        self._copy({os.path.join(folder, file): path for file, path in artifact.files.items()})
        return artifact

    log_model = log_artifact

    @never_raises([])
    def save(self, glob_str: Any = None, *_: Any, **__: Any) -> Any:
        """Copy all files that match a pattern to `files/` in the run's folder. Returns their paths;
        True without a pattern.
        """
        if glob_str is None:
            return True
        paths = [os.path.abspath(path) for path in glob.glob(os.fspath(glob_str))]
        self._copy({os.path.basename(path): Path(path) for path in paths})
        if not paths:
            self.warn_once(f"save {glob_str}", f"save(): no file matches '{glob_str}'")
        return paths

    def _copy(self, files: dict[str, Path]) -> None:
        """Copy files, by their names in the run; one warning for all that fail."""
        if not self.is_open or self._run is None:
            return
        errors = []
        for name, path in files.items():
            try:
                copy_file(path, self._run.folder, name)
            except (OSError, ValueError) as error:
                errors.append(error)
        if errors:
            text = f"{len(errors)} of {len(files)} files are not kept: {errors[0]}"
            self.warn_once(text, text)

    def __getattr__(self, name: str) -> Accepted:
        """Accept other attributes of wandb's runs, see `stand_in`."""
        return stand_in("run", name, dir(type(self)))

    @property
    def _session_metrics(self) -> Any:
        assert self._session
        return self._session.metrics

    def _take(self, values: Iterable[tuple[str, Any]]) -> None:
        """Add the numbers among `values` to the pending row; handle other values."""
        for name, value in values:
            number = number_of(value)
            if number is None:
                self._take_other(name, value)
                continue
            if name not in self._names:
                self._announce(name)
            if not math.isfinite(number) and f"finite {name}" not in self._warned:
                self._warned.add(f"finite {name}")
                self.event("warning", f"{name} is {number}")
            if name in self._pending:  # once as "a/b", once as "b" within "a"
                self._publish()
            self._pending[name] = number
            self._latest[name] = number

    def _take_other(self, name: str, value: Any) -> None:
        """A text that has changed becomes an event; other objects files or metrics, if possible."""
        if type(value) is Text and "\n" not in value.data.strip():
            value = value.data
        if type(value) is str:
            if self._texts.get(name) != value:
                self._texts[name] = value
                self.event("info", f"{name}: {value}")
        elif value is not None:
            try:
                self._take(self._objects.take(name, value, self.step).items())
            except Exception as error:  # the others that are logged with it are kept
                self.warn_once(name, f"'{name}' is not kept: {described_error(error)}")

    def _announce(self, name: str) -> None:
        self._names.add(name)
        step_metric = self._step_metrics.of(name)
        if not self._session_metrics.register(Metric(name, step_metric=step_metric)):
            room = self._session_metrics.header.layout.max_metrics
            self.warn_once(
                "room", f"no room for '{name}' and more: a run keeps {room} metrics, by their names"
            )

    def _advance(self, step: Any) -> None:
        """Publish the pending row if it has another step, and continue with `step`."""
        number = _whole_number(step)
        if number is None:
            self.warn_once(
                "step",
                f"step = {described(step)} is not an integer from 0 to 2^63 - 1: it is ignored",
            )
            return
        if number != self._step and self._pending:
            self._publish()
        self._step, self._is_step_over = number, False

    def _log(self, data: Any, step: Any, commit: Any) -> None:
        values = list(flattened(data, lambda text: self.warn_once(text, text)))
        if step is not None:
            self._advance(step)
        elif self._is_step_over:
            self._advance(min(self._step + 1, MAX_STEP))
        if any(name in self._pending for name, _ in values):
            self._publish()
        if not self._pending:
            self._pending_since_s = time.monotonic()
        self._take(values)
        if is_true(commit) or (commit is None and step is None):
            self._publish()
            self._is_step_over = self._step >= 0
        elif self._pending:
            self._publish_soon()

    def _publish(self) -> None:
        self._iteration += 1
        self._step_metrics.complete(self._pending, self._latest)
        self._session_metrics.publish(self._pending, self._iteration, self._step)
        self._pending.clear()

    def _publish_soon(self) -> None:
        """Have the pending row published even if no other value follows."""
        if self._publisher is None:
            self._publisher = threading.Thread(
                target=self._publish_late_rows, name="operant-publisher", daemon=True
            )
            self._publisher.start()
        self._has_pending.set()

    @never_raises()
    def _publish_late_rows(self) -> None:
        while self._is_open:
            self._has_pending.wait()
            time.sleep(PENDING_S)
            with self._lock:
                waited_s = time.monotonic() - self._pending_since_s
                if self._is_open and self._pending and waited_s >= PENDING_S:
                    self._publish()
                if not self._pending:
                    self._has_pending.clear()

    def _write_manifest(self) -> None:
        """Write run.toml."""
        session = self._session
        if session is None or not self.is_open:
            return
        try:
            session.run.write_manifest(self._manifest)
        except OSError as error:
            # A file that vanishes while it is written: the folder is being deleted.
            if session.is_folder_deleted() or isinstance(error, FileNotFoundError):
                return
            path, reason = session.run.manifest_path, error.strerror
            self.warn_once("manifest", f"cannot write {path}: {reason}")


def _whole_number(step: Any) -> int | None:
    """`step` as an integer that a page can hold; None if it is no such number."""
    try:
        # A float would round what lies above 2^53.
        number = operator.index(step) if hasattr(step, "__index__") else number_of(step)
        return int(number) if number is not None and 0 <= number <= MAX_STEP else None
    except Exception:
        return None
