"""One run of a trial: an ordinary run, begun here or taken over from a sweeper that is gone."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...shared.errors import CheckpointError, OperantError
from ...shared.ranks import read_status
from ...shared.requests import STOP_REASON, send_request
from ...shared.run_folder import Run
from ...shared.status import RunStatus, trainer_of
from ..launching import Prepared, begun, has_page_of, prepared_run


class TrialRun:
    """A run while it trains. One that another sweeper began is known by its folder alone."""

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
        besides: Mapping[str, Any],
    ) -> TrialRun:
        """Train as `operant train` would, under an id that is known before there is anything to
        find. Raises ConfigError where the configuration does not hold, and other UsageErrors.
        """
        prepare = partial(
            prepared_run, source, overrides, name, None, besides=besides, run_id=run_id
        )
        return cls._begun(prepare)

    @classmethod
    def go_on(cls, run: Run) -> TrialRun | None:
        """From its newest checkpoint; None where it has none to go on from."""
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
        """Whether its process is gone. What holds the run until that has a lock is let go of."""
        if self._process is None:
            return trainer_of(self.run) is None
        is_gone = self._process.poll() is not None
        if self._prepared and (is_gone or has_page_of(self.run, self._process)):
            self._prepared.lock.release()
            self._prepared = None
        return is_gone

    def stop(self, reason: str = "") -> None:
        """Ask it, once, to end in good order. Its state then says the `reason`, else the signal."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if reason:
            with contextlib.suppress(OSError, OperantError):  # the state then names the signal
                self.run.write_manifest({**self.run.read_manifest(), STOP_REASON: reason})
        if self._process:
            self._process.terminate()
            return
        with contextlib.suppress(OperantError):  # it has just ended
            send_request(self.run, "stop")

    def failure(self) -> str:
        """Why a run that is over gave nothing; empty where it finished."""
        status = self.status()
        if status.state == "finished":
            return ""
        code = self._process.returncode if self._process else None
        if code is not None and code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        if status.state == "stopped":
            return f"it was stopped {status.message}".rstrip()
        return status.message or f"it {status.state}"
