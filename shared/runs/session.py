"""A process's hold on a run while it publishes: the lock, the page, the recorder, the outcome."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ..console.capture import start_console
from ..errors import PageError
from ..messages import log_warning
from ..page.page_place import page_path
from ..page.reader import MetricsReader
from ..page.row_ring import publish_of
from ..page.schema import Metric
from ..page.writer import DEFAULT_MAX_METRICS, Beginning, Clock, MetricsWriter
from ..processes.host import boot_id, process_start
from ..processes.lock import RunLock
from ..rows.curves import Curves
from ..rows.history import History
from ..rows.row_batch import ELAPSED_NS
from .outcome import State
from .recorder_process import RecorderProcess, RecorderSettings
from .run_folder import Run
from .small_file import write_whole

_DEFAULT_RECORDER = RecorderSettings()


class RunSession:
    """Publishes a run, from its beginning to its outcome."""

    def __init__(
        self,
        run: Run,
        lock: RunLock,
        metrics: Iterable[Metric] = (),
        *,
        publish_interval_s: float,
        max_metrics: int = DEFAULT_MAX_METRICS,
        ends_with_process: bool = False,
        continue_from: int | None = None,
        recorder: RecorderSettings | None = _DEFAULT_RECORDER,
        console: bool = False,
        warn: Callable[[str], None] = log_warning,
        clock: Clock = time,
    ) -> None:
        """Create the page. If there is no memory for it, warn once and go on: the page is then in
        the process, and readers of the same user find it through /proc.

        `continue_from` is the publish number up to which the run's last page, if it can be read,
        becomes the beginning of this one; None starts anew.

        `recorder` are the settings of the run's recorder, which is started; None starts none. With
        `console`, the run keeps what this process prints. `ends_with_process` means that the
        process may end without an outcome: the recorder then derives the state from its exit
        status, if the kernel reports one.
        """
        self.run = run
        self._ends_with_process = ends_with_process
        self._lock, self._warn, self._clock = lock, warn, clock
        self._is_open = True
        self._closing = threading.Lock()  # held from `close` on: only the first outcome counts
        self._is_deletion_reported = False

        def create(path: Path | None) -> MetricsWriter:
            return MetricsWriter.create(
                path,
                run.id,
                metrics,
                publish_interval_s=publish_interval_s,
                max_metrics=max_metrics,
                beginning=beginning,
                folder=run.folder,
                clock=clock,
            )

        # Before the page, so that a process that dies while it creates one is recorded as well.
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
            # Before place.json is written: the recorder then begins to copy the page.
            with contextlib.suppress(OSError):  # a full disk
                run.page_copy_path.unlink(missing_ok=True)
            self._write_place()
        except BaseException:
            self.metrics.remove()
            raise
        self._console = start_console(run.console_path(), warn) if console else None

    def close(
        self, state: State, exit_code: int, message: str = "", *, is_provisional: bool = False
    ) -> None:
        """Write the outcome, save a copy of the page in the run folder, release the lock, and wait
        a moment for the recorder to finish.
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
        """Whether the run's folder was deleted, with one warning: the run goes on, with its page
        alone.
        """
        folder = self.run.folder
        if folder.exists() or not folder.parent.exists():  # what is not mounted now may come back
            return False
        if not self._is_deletion_reported:
            self._is_deletion_reported = True
            text = f"{folder} was deleted during the run: nothing of it is kept"
            self._warn(text)
            self.metrics.event("warning", text)
        return True

    def abandon(self) -> None:
        """Undo what `__init__` did, without an outcome: the run was not begun."""
        if self._is_open:
            self._is_open = False
            self.metrics.remove()
            if self._console:
                self._console.stop()
            self._lock.release()

    def _write_place(self) -> None:
        """Write place.json: the process and the place of the page, for readers."""
        pid = os.getpid()
        place = {
            "pid": pid,
            "process_start": process_start(pid),
            "boot_id": boot_id().hex(),
            "page": str(self.metrics.path) if self.metrics.path else None,
            "fd": self.metrics.fd,
            # Where and when this process continues a run: rows of an earlier process after that
            # publish are no longer valid.
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
    """How far the run was at `publish`, by the copy of its last page or by the page of a crash,
    whichever knows more.
    """
    paths = (run.page_copy_path, page_path(run))
    read = (_beginning_at(path, run.rows_path, publish) for path in paths)
    found = [beginning for beginning in read if beginning]
    return max(found, key=lambda beginning: beginning.publish, default=None)


def _beginning_at(path: Path, rows_path: Path, publish: int) -> Beginning | None:
    """None when the page at `path` cannot be read, or there are no rows up to `publish`."""
    try:
        page = MetricsReader.attach(path)
    except PageError:
        return None
    curves = Curves(rows_path, page)
    try:
        whole, newest = curves.history(), curves.up_to(publish)
        if not len(newest):
            return None
        return Beginning(
            publish=int(newest.publish[-1]),
            header=page.header,
            metrics=curves.metrics,
            events=page.events(),
            rows=[record for record in page.rows().records if publish_of(record) <= publish],
            monotonic_ns=int(newest.heads[ELAPSED_NS, -1]),
            latest=_latest(whole.until_publish(publish)) | _latest(newest),
        )
    except PageError:
        return None
    finally:
        curves.close()
        page.detach()


def _latest(history: History) -> dict[str, float]:
    """The last number of each metric that has one."""
    means = {name: history.series(name).mean for name in history.names}
    known = {name: mean[np.isfinite(mean)] for name, mean in means.items()}
    return {name: float(mean[-1]) for name, mean in known.items() if len(mean)}
