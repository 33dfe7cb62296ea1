"""Trials of a sweep: ordinary runs that are started, watched and evaluated by their rows."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...shared.errors import CheckpointError, OperantError
from ...shared.page.requests import give_reason, send_request
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus, holder_of, read_status
from ...trainer.running.process import Prepared
from ..helpers.launching import begun, has_page_of, prepared_run


class TrialRun:
    """A run while it trains. If another sweeper started it, only its folder is known."""

    def __init__(
        self,
        run: Run,
        prepared: Prepared | None = None,
        process: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.run = run
        self._prepared, self._process = prepared, process
        self._is_stopped = False

    @classmethod
    def begin(
        cls,
        source: str,
        overrides: tuple[str, ...],
        name: str,
        run_id: str,
        more: Mapping[str, Any],
    ) -> TrialRun:
        """Train as `operant train` would, under `run_id`, which the caller knows before the run
        exists. Raises ConfigError if the configuration is not valid, and other UsageErrors.
        """
        prepare = partial(prepared_run, source, overrides, name, None, more=more, run_id=run_id)
        return cls._begun(prepare)

    @classmethod
    def go_on(cls, run: Run) -> TrialRun | None:
        """Continue from the newest checkpoint; None if there is none that can be continued."""
        try:
            return cls._begun(partial(prepared_run, None, (), None, run.id))
        except CheckpointError:
            return None

    @classmethod
    def _begun(cls, prepare: Any) -> TrialRun:
        prepared, process = begun(prepare)
        return cls(prepared.run, prepared, process)

    def status(self) -> RunStatus:
        return read_status(self.run)

    def is_over(self) -> bool:
        """Whether the process has ended. Also releases the run's lock once the trainer holds its
        own or has ended.
        """
        if self._process is None:
            return holder_of(self.run) is None
        is_gone = self._process.poll() is not None
        if self._prepared and (is_gone or has_page_of(self.run, self._process)):
            self._prepared.lock.release()
            self._prepared = None
        return is_gone

    def stop(self, reason: str = "") -> None:
        """Request a stop in good order, once. The run's status then shows `reason`, or else the
        signal.
        """
        if self._is_stopped:
            return
        self._is_stopped = True
        if reason:
            give_reason(self.run, reason)
        if self._process:
            self._process.terminate()
            return
        with contextlib.suppress(OperantError):  # the run has just ended
            send_request(self.run, "stop")

    def failure(self) -> str:
        """Why an ended run has no result; empty if it finished."""
        status = self.status()
        if status.state == "finished":
            return ""
        code = self._process.returncode if self._process else None
        if code is not None and code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        if status.state == "stopped":
            return f"it was stopped {status.message}".rstrip()
        return status.message or f"it {status.state}"
