"""The run of anyone's training loop: what is logged is published, nothing disturbs the loop."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..events import Level
from ..schema import Metric
from ..session import RunSession, warn_on_stderr
from . import process_end
from .kept_objects import KeptObjects
from .media import Text
from .process_end import Ending, ending_of
from .record import Record
from .values import flattened, number_of, plain

PENDING_S = 0.1  # the longest that a step waits for more of its values


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
        self.resumed = iteration > 0
        self._iteration, self._step = iteration, step
        self._lock = threading.RLock()  # a signal's handler may end the run in the middle of a log
        self._pid = os.getpid()
        self._is_open = session is not None
        self._pending: dict[str, float] = {}
        self._pending_since_s = 0.0
        self._has_pending = threading.Event()
        self._publisher: threading.Thread | None = None
        self._names: set[str] = set()
        self._texts: dict[str, str] = {}
        self._warned: set[str] = set()
        self._objects = KeptObjects(Path(self.dir), session.rank if session else 0, self.warn_once)
        self._latest: dict[str, Any] = manifest.setdefault("summary", {})
        self.config = Record(manifest.setdefault("config", {}), self._write_manifest)
        self.summary = Record(self._latest, self._write_manifest)
        if session is not None:
            process_end.end_with_process(self)

    @property
    def id(self) -> str:
        """As `operant status` takes it; empty for a run that keeps nothing."""
        return self._session.run.id if self._session else ""

    @property
    def dir(self) -> str:
        """The run's folder; files may be put there."""
        return str(self._session.run.folder) if self._session else tempfile.gettempdir()

    @property
    def step(self) -> int:
        """The newest step given, or how many rows were logged where none ever was."""
        return self._iteration if self._step < 0 else self._step

    @property
    def name(self) -> str:
        return str(self._manifest.get("name", ""))

    @name.setter
    def name(self, name: str) -> None:
        self._manifest["name"] = name
        self._write_manifest()

    @property
    def is_open(self) -> bool:
        """Whether what is logged here, in this process, is still kept."""
        return self._is_open and os.getpid() == self._pid

    def log(
        self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None
    ) -> None:
        """Publish `data`, nested as it may be. Values of one `step` go together in one row: it is
        published when another step comes, when one of its names comes again, with `commit=True`, or
        after a tenth of a second. Without a step the row is complete, unless `commit=False`.
        """
        if not self.is_open:
            self._warn_of_closed()
            return
        process_end.go_on()
        try:
            with self._lock:
                if step is not None:
                    self._advance(step)
                    if not self._pending.keys().isdisjoint(data):
                        self._publish()
                if not self._pending:
                    self._pending_since_s = time.monotonic()
                self._take(data)
                if commit or (commit is None and step is None):
                    self._publish()
                elif self._pending:
                    self._publish_soon()
        # The loop is worth more than its numbers, whatever they are made of.
        except Exception as error:
            self._warn("log", f"cannot log: {type(error).__name__}: {error}")

    def event(self, level: Level, text: str) -> None:
        """Add a message to the run."""
        if self.is_open:
            with self._lock:
                self._session_metrics.event(level, text, self._step)

    def flush(self) -> None:
        """Publish what still waits for more values of its step."""
        if self.is_open:
            with self._lock:
                if self._pending:
                    self._publish()

    def finish(self, exit_code: int | None = None) -> None:
        """The run is over; with an exit code other than 0 it has failed."""
        self.end(ending_of(SystemExit(exit_code)))

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
                self._session.close(ending.state, ending.exit_code, ending.message)
            except Exception as error:  # as when the loop has closed all descriptors
                self._warn("close", f"cannot end {self.id} well: {error}")

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
            self._warn(key, text)

    @property
    def _session_metrics(self) -> Any:
        assert self._session
        return self._session.metrics

    def _take(self, data: Mapping[str, Any]) -> None:
        """Put the numbers of `data` with those that wait; what is none is told of."""
        for name, value in flattened(data):
            number = number_of(value)
            if number is None:
                self._take_other(name, value)
                continue
            if name not in self._names:
                self._announce(name)
            if not math.isfinite(number) and f"finite {name}" not in self._warned:
                self._warned.add(f"finite {name}")
                self.event("warning", f"{name} is {number}")
            self._pending[name] = number
            self._latest[name] = number

    def _take_other(self, name: str, value: Any) -> None:
        """Texts become events when they change; other things files or metrics, if they can."""
        if isinstance(value, Text) and "\n" not in value.data.strip():
            value = value.data
        if isinstance(value, str):
            if self._texts.get(name) != value:
                self._texts[name] = value
                self.event("info", f"{name}: {value}")
        elif value is not None:
            self._take(self._objects.take(name, value, self.step))

    def _announce(self, name: str) -> None:
        self._names.add(name)
        if not self._session_metrics.register(Metric(name)):
            room = self._session_metrics.header.layout.max_metrics
            self._warn(
                "room", f"no room for '{name}' and more: a run keeps {room} metrics, by their names"
            )

    def _advance(self, step: Any) -> None:
        """Go to `step`, and publish what belongs to the one before."""
        number = number_of(step)
        if number is None or not math.isfinite(number):
            self._warn("step", f"step = {step!r} is no whole number: it is passed over")
        elif int(number) != self._step:
            if self._pending:
                self._publish()
            self._step = int(number)

    def _publish(self) -> None:
        self._iteration += 1
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
        """Keep run.toml up to date; of several ranks, rank 0 does."""
        session = self._session
        if session is None or session.rank or not self.is_open:
            return
        try:
            session.run.write_manifest(plain(self._manifest))
        except Exception as error:
            self._warn("manifest", f"cannot write {session.run.manifest_path}: {error}")

    def _warn(self, key: str, text: str) -> None:
        if key in self._warned:
            return
        self._warned.add(key)
        with contextlib.suppress(Exception):  # standard error may be closed
            warn_on_stderr(text)
        self.event("warning", text)

    def _warn_of_closed(self) -> None:
        if self._session and os.getpid() == self._pid:
            self._warn("closed", f"{self.id} is over: what is logged to it is not kept")
