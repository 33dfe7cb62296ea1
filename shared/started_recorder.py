"""The recorder that a run has started, and how the run's end waits for its last word."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from .host import process_start
from .lock import RECORDER, lock_holder
from .recorder_process import RecorderSettings, start_recorder
from .run_folder import Run
from .small_file import create_anew

WAIT = "OPERANT_RECORDER_WAIT_S"  # in the environment: seconds, instead of those of the settings
MAX_WAIT_S = 60.0
LOOK_AGAIN_S = 0.005


@dataclass(frozen=True)
class StartedRecorder:
    """`pid` is 0 where this process has started none: another one may record the run."""

    run: Run
    pid: int
    process_start: int
    wait_s: float

    @classmethod
    def of(
        cls, run: Run, settings: RecorderSettings | None, warn: Callable[[str], None]
    ) -> StartedRecorder:
        """Start one, where there are settings for it; the run's folder says then that not all of
        the run is in it yet.
        """
        if settings is None:
            return cls(run, 0, 0, RecorderSettings.wait_s)
        with suppress(OSError):  # a disk that takes nothing
            os.close(create_anew(run.recording_path))
        pid = start_recorder(run, settings, warn)
        if not pid:
            with suppress(OSError):
                run.recording_path.unlink(missing_ok=True)
        return cls(run, pid, process_start(pid) if pid else 0, settings.wait_s)

    def wait(self) -> None:
        """Return once all of the run is in its folder; after `wait_s` at most, and at once where
        nobody is about to do that. Ctrl-C ends the waiting and nothing else.
        """
        deadline = time.monotonic() + self._patience_s()
        with suppress(KeyboardInterrupt):
            while self._is_awaited() and time.monotonic() < deadline:
                time.sleep(LOOK_AGAIN_S)

    def _is_awaited(self) -> bool:
        run = self.run
        if not run.recording_path.exists() or lock_holder(run.lock_path):  # other ranks go on
            return False
        is_there = self.pid and process_start(self.pid) == self.process_start
        return bool(is_there or lock_holder(run.lock_path, RECORDER, 1))

    def _patience_s(self) -> float:
        with suppress(ValueError):
            return min(max(0.0, float(os.environ.get(WAIT, ""))), MAX_WAIT_S)
        return self.wait_s
