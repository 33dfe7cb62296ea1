"""The run of a foreign training loop: it publishes what is logged, and never raises.

A run's configuration and its summary are `Record`s: dicts whose entries are attributes as well.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..page.events import LEVELS, Level
from ..page.schema import Metric
from ..runs.session import RunSession, warn_on_stderr
from ..text.plain_values import described, described_error, is_true, text_of
from . import process_end
from .accepted import Accepted
from .media import KeptObjects, Text
from .never_raising import never_raises
from .process_end import Ending, ending_of
from .values import as_mapping, flattened, number_of


class Record(MutableMapping[str, Any]):
    """Entries as items and attributes: `record["a"]`, `record.a`, `record.update({"a": 1})`. Calls
    a function on every change.
    """

    def __init__(
        self,
        entries: dict[str, Any],
        changed: Callable[[], None],
        warn_once: Callable[[str, str], None],
    ) -> None:
        """`warn_once` takes a key and a text; it reports the first value of each key that cannot be
        kept.
        """
        object.__setattr__(self, "_entries", entries)
        object.__setattr__(self, "_changed", changed)
        object.__setattr__(self, "_warn_once", warn_once)

    @never_raises()
    def update(self, entries: Any = None, allow_val_change: bool = True, **more: Any) -> None:  # type: ignore[override]
        """Take over all entries of a mapping, a namespace or a dataclass. Values may change."""
        self._entries.update(as_mapping(entries), **more)
        self._changed()

    @never_raises()
    def setdefaults(self, entries: Any) -> None:
        """Take over the entries whose keys are missing."""
        self.update({**as_mapping(entries), **self._entries})

    def update_locked(self, entries: Any, *_: Any, **__: Any) -> None:
        self.update(entries)

    merge_locked = update_locked

    def persist(self) -> None:
        """Nothing to do: every change is written at once."""

    def as_dict(self) -> dict[str, Any]:
        return dict(self._entries)

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    @never_raises()
    def __setitem__(self, key: str, value: Any) -> None:
        self._entries[key] = value
        self._changed()

    def __delitem__(self, key: str) -> None:
        del self._entries[key]
        self._changed()

    def __getattr__(self, name: str) -> Any:
        try:
            return self._entries[name]
        except KeyError:
            raise AttributeError(f"there is no '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)


PENDING_S = 0.1  # the longest that a step waits for more of its values
MAX_STEP = 2**63 - 1
MAX_WARNINGS = 100  # of one run: a loop may find ever new ways to be warned of


class StepMetrics:
    """Of names and of patterns `prefix/*`; an exact name comes before patterns, of these the
    longest.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._by_prefix: dict[str, str] = {}
        self._found: dict[str, str] = {}  # of the names that were asked for

    def define(self, name: str, step_metric: str) -> list[str]:
        """Draw `name` over `step_metric`; returns the names known already that this changes."""
        if name.endswith("*"):
            self._by_prefix[name[:-1]] = step_metric
        else:
            self._by_name[name] = step_metric
        before, self._found = self._found, {}
        return [known for known, old in before.items() if self.of(known) != old]

    def of(self, name: str) -> str:
        """Empty where `name` is drawn over the run's own step."""
        if name not in self._found:
            self._found[name] = self._looked_up(name)
        return self._found[name]

    def complete(self, row: MutableMapping[str, float], latest: Mapping[str, Any]) -> None:
        """Put the newest value of the step metrics into a row whose metrics need it."""
        if not self._by_name and not self._by_prefix:
            return
        for step_metric in {self._found.get(name, "") for name in row} - {""}:
            value = latest.get(step_metric)
            if step_metric not in row and isinstance(value, int | float):
                row[step_metric] = float(value)

    def _looked_up(self, name: str) -> str:
        if name in self._by_name:
            return self._by_name[name]
        if name in self._by_name.values() or name in self._by_prefix.values():
            return ""
        fitting = [prefix for prefix in self._by_prefix if name.startswith(prefix)]
        return self._by_prefix[max(fitting, key=len)] if fitting else ""


class TrackedRun:
    """Publishes what a loop logs, one row a step, from any thread; never raises for it.

    In a forked child, after its end, and where no run could be made, it does nothing.
    """

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
        self._is_step_over = step >= 0  # what comes without a step belongs to the next
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
        self._objects = KeptObjects(Path(self.dir), self.warn_once)
        self._latest: dict[str, Any] = manifest.setdefault("summary", {})
        self.config = Record(
            manifest.setdefault("config", {}), self._write_manifest, self._warn_once
        )
        self.summary = Record(self._latest, self._write_manifest, self._warn_once)
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
        """The step of the row that is logged next: the newest given, or one more once its row is
        complete; where none ever was given, how many rows were logged.
        """
        return self._iteration if self._step < 0 else self._step + self._is_step_over

    @property
    def name(self) -> str:
        return text_of(self._manifest.get("name", ""))

    @name.setter
    def name(self, name: str) -> None:
        self._manifest["name"] = text_of(name)
        self._write_manifest()

    @property
    def is_open(self) -> bool:
        """Whether what is logged here, in this process, is still kept."""
        return self._is_open and os.getpid() == self._pid

    @never_raises()
    def log(
        self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None
    ) -> None:
        """Publish `data`, nested as it may be. Values of one `step` go together in one row: it is
        published when another step comes, when one of its names comes again, with `commit=True`, or
        after a tenth of a second. Without a step the row is complete, unless `commit=False`; what
        waits then is not overwritten either. After a complete row whose step was given, the next
        without one has the step that follows.
        """
        if not self.is_open:
            self._warn_of_closed()
            return
        process_end.go_on()
        with self._lock:
            self._logs.append((data, step, commit))
            if self._is_logging:  # a signal's handler, whose row comes next
                return
            self._is_logging = True
            try:
                while self._logs:
                    self._log(*self._logs.popleft())
            finally:
                self._is_logging = False

    @never_raises()
    def event(self, level: Level, text: str) -> None:
        """Add a message to the run; any level other than debug, info, warning and error becomes
        info.
        """
        if self.is_open:
            with self._lock:
                level = level if level in LEVELS else "info"
                self._session_metrics.event(level, text_of(text), self._step)

    @never_raises()
    def flush(self) -> None:
        """Publish what still waits for more values of its step."""
        if self.is_open:
            with self._lock:
                if self._pending and not self._is_logging:
                    self._publish()

    @never_raises()
    def finish(self, exit_code: int | None = None) -> None:
        """The run is over; with an exit code other than 0 it has failed."""
        number = number_of(exit_code)  # also one of numpy
        if number is None or not math.isfinite(number):
            self.end(ending_of(SystemExit(exit_code)))
        else:
            self.end(ending_of(SystemExit(int(number))))

    @never_raises()
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
            except Exception as error:  # as when the loop has closed all descriptors
                self._warn_once("close", f"cannot end {self.id} well: {described_error(error)}")
            # The page's memory goes with its session, and not with whoever keeps the ended run.
            self._session = None

    def __enter__(self) -> TrackedRun:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.end(ending_of(error))

    def warn_once(self, key: str, text: str) -> None:
        """Say `text` on standard error and among the run's events, the first time for `key`."""
        if self.is_open:
            self._warn_once(key, text)

    @property
    def _session_metrics(self) -> Any:
        assert self._session
        return self._session.metrics

    def _flat(self, data: Any) -> list[tuple[str, Any]]:
        """Names and values of `data`; values that cannot be read are reported."""
        return list(flattened(data, lambda text: self._warn_once(text, text)))

    def _take(self, values: Iterable[tuple[str, Any]]) -> None:
        """Put the numbers among `values` with those that wait; other values are reported."""
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
        """Texts become events when they change; other things files or metrics, if they can."""
        if type(value) is Text and "\n" not in value.data.strip():
            value = value.data
        if type(value) is str:
            if self._texts.get(name) != value:
                self._texts[name] = value
                self.event("info", f"{name}: {value}")
        elif value is not None and not isinstance(value, Accepted):
            try:
                self._take(self._objects.take(name, value, self.step).items())
            except Exception as error:  # the others that are logged with it are kept
                self._warn_once(name, f"'{name}' is not kept: {described_error(error)}")

    def _announce(self, name: str) -> None:
        self._names.add(name)
        step_metric = self._step_metrics.of(name)
        if not self._session_metrics.register(Metric(name, step_metric=step_metric)):
            room = self._session_metrics.header.layout.max_metrics
            self._warn_once(
                "room", f"no room for '{name}' and more: a run keeps {room} metrics, by their names"
            )

    def _draw_over(self, name: str, step_metric: str) -> None:
        """Draw metric `name`, or all that fit `prefix/*`, over another one."""
        if not self.is_open:
            return
        with self._lock:
            for known in self._step_metrics.define(name, step_metric):
                over = self._step_metrics.of(known)
                self._session_metrics.describe(Metric(known, step_metric=over))

    def _advance(self, step: Any) -> None:
        """Go to `step`, and publish what belongs to the one before."""
        number = _whole_number(step)
        if number is None:
            allowed = "no whole number from 0 to 2^63 - 1"
            self._warn_once("step", f"step = {described(step)} is {allowed}: it is passed over")
            return
        if number != self._step and self._pending:
            self._publish()
        self._step, self._is_step_over = number, False

    def _log(self, data: Any, step: Any, commit: Any) -> None:
        values = self._flat(data)
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
        """See that the row is published even if nothing comes after it."""
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
        """Keep run.toml up to date."""
        session = self._session
        if session is None or not self.is_open:
            return
        try:
            session.run.write_manifest(self._manifest)
        except OSError as error:
            # If a file vanishes while it is written, somebody is deleting the folder right now.
            if session.is_folder_deleted() or isinstance(error, FileNotFoundError):
                return
            path, reason = session.run.manifest_path, error.strerror
            self._warn_once("manifest", f"cannot write {path}: {reason}")

    def _warn_once(self, key: str, text: str) -> None:
        """Say `text`, the first time for `key`; whatever is wrong with what says it."""
        if key in self._warned:
            return
        self._warned.add(key)
        self._num_warnings += 1
        if self._num_warnings > MAX_WARNINGS:
            return
        if self._num_warnings == MAX_WARNINGS:
            text = f"{text}; further warnings are not shown"
        with contextlib.suppress(Exception):  # standard error may be closed
            warn_on_stderr(text)
        self.event("warning", text)

    def _warn_of_closed(self) -> None:
        if self._run and os.getpid() == self._pid:
            self._warn_once("closed", f"{self.id} is over: what is logged to it is not kept")


def _whole_number(step: Any) -> int | None:
    """`step` as a page can hold it; None for what is none, and for steps below 0."""
    try:
        # A float would round what lies above 2^53.
        number = operator.index(step) if hasattr(step, "__index__") else number_of(step)
        return int(number) if number is not None and 0 <= number <= MAX_STEP else None
    except Exception:
        return None
