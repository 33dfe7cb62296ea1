"""The end of a stream on the watcher's machine."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any

from ...shared.errors import OperantError, PageError, UsageError
from ...shared.reader import MetricsReader
from ...shared.run_folder import Run
from ...shared.status import RunStatus, speed_at, with_numbers
from ..alerts import Alert, alerts_in
from ..machine import MachineSample
from ..run_view import RunView, view_of
from .frames import PROTOCOL, Frame, StreamError, read_frame, skip_greeting
from .host import SHELL_NOT_FOUND, SSH_NOT_REACHED, RemoteName, stream_command
from .page_blocks import PageMirror

AGAIN_AFTER_S = 5.0
END_WITHIN_S = 2.0


class RemoteRun:
    """A run on another machine as a source of views. `connect` first; then `start` keeps it up to
    date in a thread, connecting anew when the connection is lost.
    """

    def __init__(self, name: RemoteName) -> None:
        self.name = name
        self.run = Run(Path(str(name)))  # has no folder here: a name to show and to compare
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._mirror: PageMirror | None = None
        self._reader: MetricsReader | None = None
        self._identity: object = None
        self._view = RunView(RunStatus(str(name), "running"), is_page_expected=False)
        self._seen_s = time.monotonic()
        self._trouble = ""
        self._machine: MachineSample | None = None

    def connect(self, *, may_ask: bool = True) -> RunStatus:
        """Reach the host and return the run's status. Raises UsageError when host or run are wrong,
        OperantError when the connection fails otherwise.
        """
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                stream_command(self.name, may_ask=may_ask),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            raise UsageError(f"cannot run ssh: {error.strerror}") from None
        try:
            frame = self._first_frame()
        except BaseException:
            self._hang_up()
            raise
        self.run = Run(Path(f"{self.name.host}:{frame.head.get('run', self.name.run)}"))
        self._take(frame)
        return self._view.status

    def start(self) -> None:
        """Follow the stream in a thread until `close`."""
        threading.Thread(target=self._follow, name="remote", daemon=True).start()

    def poll(self) -> RunView:
        """The newest view, its age brought up to now."""
        with self._lock:
            since_s = time.monotonic() - self._seen_s
            view, trouble = self._view, self._trouble
        status = view.status
        if status.age_s is not None:
            status = replace(status, age_s=status.age_s + since_s)
        if trouble:
            status = replace(status, message=trouble, eta_s=None)
        return replace(view, status=status)

    def machine(self) -> MachineSample | None:
        """What the run's own machine does for it."""
        with self._lock:
            return self._machine

    def close(self) -> None:
        self._ended.set()
        self._hang_up()

    def _first_frame(self) -> Frame:
        assert self._process
        assert self._process.stdout
        out = self._process.stdout
        frame = read_frame(out, magic_was_read=True) if skip_greeting(out) else None
        if frame is None:
            raise self._why_it_ended()
        if frame.head.get("protocol") != PROTOCOL:
            raise OperantError(
                f"{self.name.host} streams protocol {frame.head.get('protocol')}, this operant "
                f"reads {PROTOCOL}; install the same version on both"
            )
        return frame

    def _why_it_ended(self) -> OperantError:
        """From the exit code of ssh or of the remote operant, and the last line of its errors."""
        assert self._process
        assert self._errors
        exit_code, host = self._process.wait(), self.name.host
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines() or [""]
        said = lines[-1].removeprefix("operant: ")
        if exit_code == SSH_NOT_REACHED:
            return OperantError(f"cannot reach {host}: {said or 'ssh failed'}")
        if exit_code == SHELL_NOT_FOUND:
            return UsageError(
                f"{host} has no operant where ssh's shell looks; "
                "set OPERANT_REMOTE to the command that starts it there"
            )
        kind = UsageError if exit_code == UsageError.exit_code else OperantError
        return kind(f"{host}: {said or f'the stream ended with exit code {exit_code}'}")

    def _follow(self) -> None:
        """Take frames; when they end, say so, and connect anew as often as it takes."""
        while not self._ended.is_set():
            try:
                if self._process is None:
                    self.connect(may_ask=False)
                self._take_all()
                trouble = f"lost the connection to {self.name.host}; trying again"
            # Whatever comes from another machine must not end the monitor.
            except Exception as error:
                trouble = f"{error}; trying again"
            self._hang_up()
            with self._lock:
                self._trouble = trouble
            self._ended.wait(AGAIN_AFTER_S)
        self._let_go_of_page()

    def _take_all(self) -> None:
        assert self._process
        assert self._process.stdout
        while (frame := read_frame(self._process.stdout)) is not None:
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        """Bring status and page up to what the frame says."""
        status = _status(frame.head.get("status"), self.run.id)
        is_page_expected = bool(frame.head.get("is_page_expected", True))
        before = self._view
        log = _log(frame.head["log"]) if "log" in frame.head else before.log
        alerts = _alerts(frame.head["alerts"]) if "alerts" in frame.head else before.alerts
        is_recorded = bool(frame.head.get("is_recorded", before.is_recorded))
        told: dict[str, Any] = {"log": log, "alerts": alerts, "is_recorded": is_recorded}
        view = replace(before, status=status, is_page_expected=is_page_expected, **told)
        page = frame.head.get("page")
        if isinstance(page, dict):
            if page.get("identity") != self._identity:
                self._let_go_of_page()
                self._mirror, self._identity = PageMirror(page["bytes"]), page["identity"]
                before = RunView(status)
            assert self._mirror
            self._mirror.apply(frame.body)
            with contextlib.suppress(PageError):  # a block was torn: the next look mends it
                self._reader = self._reader or self._mirror.open()
                status = _same_publish(status, self._reader)
                view = replace(view_of(self._reader, status, before), **told)
        with self._lock:
            self._view, self._trouble, self._seen_s = view, "", time.monotonic()
            if "machine" in frame.head:
                self._machine = _machine(frame.head["machine"])

    def _let_go_of_page(self) -> None:
        if self._reader:
            self._reader.detach()
        if self._mirror:
            self._mirror.close()
        self._reader = self._mirror = self._identity = None

    def _hang_up(self) -> None:
        """End ssh; the stream on the other side ends with it."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait(END_WITHIN_S)
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
        errors, self._errors = self._errors, None
        if errors:
            errors.close()


def _machine(said: Any) -> MachineSample | None:
    """The sample that a frame holds; None where its process is gone or another version sent it."""
    try:
        return MachineSample.from_json(said) if said else None
    except (TypeError, KeyError):
        return None


def _log(said: Any) -> tuple[str, ...]:
    """The end of what the process printed."""
    return tuple(map(str, said)) if isinstance(said, list) else ()


def _alerts(said: Any) -> tuple[Alert, ...]:
    """What the recorder there has decided."""
    return alerts_in(map(str, said)) if isinstance(said, list) else ()


def _same_publish(status: RunStatus, reader: MetricsReader) -> RunStatus:
    """The status was taken a moment before the page: bring its numbers up to the page's."""
    snapshot = reader.read()
    if snapshot is None or status.ranks:
        return status
    return with_numbers(status, snapshot, speed_at(reader, snapshot, status.is_alive))


def _status(said: Any, run: str) -> RunStatus:
    """The RunStatus that a frame holds, fields of other versions left out. Raises StreamError."""
    if not isinstance(said, dict) or not isinstance(said.get("state"), str):
        raise StreamError("the stream holds no status")
    known = {field.name for field in fields(RunStatus)}
    kept = {name: value for name, value in said.items() if name in known}
    ranks = tuple(_status(rank, run) for rank in kept.pop("ranks", ()))
    return RunStatus(**{**kept, "run": run, "ranks": ranks})
