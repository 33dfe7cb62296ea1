"""A run on another machine as a source of views."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import replace

from ...shared.runs.run_elsewhere import REPORT_FILE, RunElsewhere
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus, read_status
from ..runs.machine.machine import MachineSample
from ..runs.reading.run_poller import RunPoller
from ..runs.reading.run_view import RunView
from .frames import StreamError
from .host import RemoteName, stream_command
from .mirror import Piece, read_machine
from .remote_stream import RemoteStream


class RemoteRun:
    """Polls the mirror of a run. `start` keeps it up to date in a thread; `connect` first, where it
    is to be known at once whether that works, and where ssh may ask for a password.
    """

    def __init__(self, name: RemoteName, listed: RunElsewhere | None = None) -> None:
        """`listed` is the run in a list: its files are shown until the run's stream comes."""
        self.name = name
        self._stream = RemoteStream(
            name.host, lambda may_ask: stream_command(self.name, may_ask=may_ask)
        )
        self._poll(name.run or "latest")
        with contextlib.suppress(OSError):  # the list may have forgotten the run meanwhile
            if listed:
                shutil.copytree(listed.folder, self.run.folder, dirs_exist_ok=True)

    def connect(self) -> RunStatus:
        """Reach the host and return the run's status. Raises UsageError when host or run are wrong,
        OperantError when the connection fails otherwise.
        """
        report = self._stream.connect(_is_report, may_ask=True)
        self.name = self.name._replace(run=report.run)
        self._poller.close()
        self._poll(report.run)
        return read_status(self.run)

    def start(self) -> None:
        """Follow the stream in a thread until `close`."""
        self._stream.start()

    def poll(self) -> RunView:
        """The newest view, its age brought up to now."""
        view, report, trouble = self._poller.poll(), self._elsewhere.report(), self._stream.trouble
        status = view.status
        if trouble:
            status = replace(status, message=trouble, eta_s=None)
        return replace(
            view,
            status=status,
            is_recorded=report.get("is_recorded", True),
            num_media_elsewhere=report.get("num_media", 0),
        )

    def machine(self) -> MachineSample | None:
        """The newest sample of the run's own machine."""
        return read_machine(self._elsewhere)

    def close(self) -> None:
        self._poller.close()
        self._stream.close()

    def _poll(self, run_id: str) -> None:
        run = self._stream.mirror.run(run_id)
        if run is None:
            raise StreamError(f"{self.name.host} streams other runs")
        self.run: Run = run
        self._elsewhere = run
        self._poller = RunPoller(run)


def _is_report(piece: Piece) -> bool:
    return piece.file == REPORT_FILE
