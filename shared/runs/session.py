"""A process's part in a run while it lives: its lock, its page, its last word."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ..console.capture import start_console
from ..errors import PageError
from ..page.layout import ROWS_BYTES
from ..page.page_place import page_path
from ..page.resumed_page import Beginning
from ..page.schema import Metric
from ..page.writer import DEFAULT_MAX_METRICS, Clock, MetricsWriter
from ..processes.host import boot_id, process_start
from ..processes.lock import RunLock
from ..text.harmless import one_line
from .outcome import State
from .recorder_process import RecorderProcess, RecorderSettings
from .run_folder import Run
from .small_file import write_whole

_DEFAULT_RECORDER = RecorderSettings()


def warn_on_stderr(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may have gone
        print(f"operant: warning: {one_line(text)}", file=sys.stderr, flush=True)


class RunSession:
    """Publishes a run, from its first moment to its outcome."""

    def __init__(
        self,
        run: Run,
        lock: RunLock,
        metrics: Iterable[Metric] = (),
        *,
        publish_interval_s: float,
        max_metrics: int = DEFAULT_MAX_METRICS,
        rows_bytes: int = ROWS_BYTES,
        ends_with_process: bool = False,
        continue_from: int | None = None,
        recorder: RecorderSettings | None = _DEFAULT_RECORDER,
        console: bool = False,
        warn: Callable[[str], None] = warn_on_stderr,
        clock: Clock = time,
    ) -> None:
        """Make the page. Where memory for it cannot be had, warn once and train on: the page then
        lives in the process, and readers of the same user still find it through /proc.

        `continue_from` is the publish number up to which the run's last page, if it can be read,
        becomes the beginning of this one; None starts anew.

        It starts the run's recorder, with these settings; None starts none.

        With `console`, the run keeps what this process prints.

        `ends_with_process`: where this process says nothing at its end, the recorder tells the
        state from its exit status, if the kernel says that.
        """
        self.run = run
        self._ends_with_process = ends_with_process
        self._lock, self._warn, self._clock = lock, warn, clock
        self._is_open = True
        self._closing = threading.Lock()  # held from `close` on: only the first outcome counts
        self._is_deletion_told = False

        def create(path: Path | None) -> MetricsWriter:
            return MetricsWriter.create(
                path,
                run.id,
                metrics,
                publish_interval_s=publish_interval_s,
                max_metrics=max_metrics,
                beginning=beginning,
                rows_bytes=rows_bytes,
                folder=run.folder,
                clock=clock,
            )

        # Before the page, so that a process that dies while it makes one is recorded as well.
        self._recorder = RecorderProcess(run, recorder, warn)
        metrics = list(metrics)
        beginning = None if continue_from is None else _beginning(run, continue_from)
        try:
            self.metrics = create(page_path(run))
        except PageError as error:
            warn(f"{error}; training goes on, watched through /proc")
            self.metrics = create(None)
            self.metrics.event("warning", str(error))
        try:
            # Before the run says where its page is: the recorder begins its copies only then.
            with contextlib.suppress(OSError):  # a disk that takes nothing
                run.page_copy_path.unlink(missing_ok=True)
            self._write_place()
        except BaseException:
            self.metrics.remove()
            raise
        self._console = start_console(run.console_path(), warn) if console else None

    def close(
        self, state: State, exit_code: int, message: str = "", *, is_provisional: bool = False
    ) -> None:
        """Write the outcome, leave a copy of the page in the run folder, let go of the run, and
        wait a moment for the recorder to write the last of it.
        """
        if not self._is_open or not self._closing.acquire(blocking=False):
            return
        self.metrics.finish(state, exit_code, message, is_provisional=is_provisional)
        self._is_open = False
        folder = self.run.folder
        try:
            self.metrics.save_copy(self.run.page_copy_path)
        except OSError as error:
            if self.is_folder_deleted():
                self.metrics.remove()
            else:
                self._warn(f"cannot keep the page in {folder}: {error.strerror}")
                self.metrics.leave()
        else:
            self.metrics.remove()
        if self._console:
            self._console.stop()
        self._lock.release()
        self._recorder.wait()

    def is_folder_deleted(self) -> bool:
        """Whether the run's folder is gone, of which this warns once: the run goes on, watched by
        its page alone.
        """
        folder = self.run.folder
        if folder.exists() or not folder.parent.exists():  # what is not mounted now may come back
            return False
        if not self._is_deletion_told:
            self._is_deletion_told = True
            text = f"{folder} was deleted during the run: nothing of it is kept"
            self._warn(text)
            self.metrics.event("warning", text)
        return True

    def abandon(self) -> None:
        """Leave nothing of what was begun here, and say nothing of it: the run never came to be."""
        if self._is_open:
            self._is_open = False
            self.metrics.remove()
            if self._console:
                self._console.stop()
            self._lock.release()

    def _write_place(self) -> None:
        """Say where the page is, for readers who cannot find it under its name."""
        pid = os.getpid()
        place = {
            "pid": pid,
            "process_start": process_start(pid),
            "boot_id": boot_id().hex(),
            "page": str(self.metrics.path) if self.metrics.path else None,
            "fd": self.metrics.fd,
            # From where, and since when, this process goes on: what was recorded of a former one
            # after that publish no longer holds.
            "after_publish": self.metrics.num_publishes,
            "since_wall_ns": self._clock.time_ns(),
        }
        if self._ends_with_process:
            place["ends_with_process"] = True
        path = self.run.place_path
        try:
            write_whole(path, json.dumps(place).encode())
        except OSError as error:
            if self.run.folder.exists():  # else another warning says that it was deleted
                self._warn(f"cannot write {path}: {error.strerror}")


def _beginning(run: Run, publish: int) -> Beginning | None:
    """What the run's last page holds up to `publish`: the copy or what a crash left, whichever
    holds more.
    """
    paths = (run.page_copy_path, page_path(run))
    found = [beginning for path in paths if (beginning := Beginning.read(path, publish))]
    return max(found, key=lambda beginning: beginning.publish, default=None)
