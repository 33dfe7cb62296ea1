"""What `SummaryWriter.file_writer` is: the end that takes TensorBoard's own messages."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .tensorboard_events import EventRecorder
from .tracked_run import TrackedRun


class FileWriter:
    """Logs events and summaries, which somebody has made with TensorBoard, into a run."""

    def __init__(self, run: TrackedRun, log_dir: str) -> None:
        self._run, self._log_dir = run, log_dir
        self._recorder = EventRecorder(run)
        self.event_writer = self

    def add_event(self, event: Any, step: Any = None, walltime: Any = None) -> None:
        self.add_summary(event.summary, event.step if step is None else step)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: Any = None) -> None:
        try:
            event = SimpleNamespace(summary=summary, step=global_step or 0)
            self._recorder.record(self._log_dir, event)
        except Exception as error:  # whatever a foreign object raises
            self._run.warn_once("summary", f"cannot record a summary: {error}")

    def add_graph(self, *_: Any, **__: Any) -> None:
        """A graph has no place here."""

    add_onnx_graph = add_run_metadata = add_graph

    def get_logdir(self) -> str:
        return self._log_dir

    def flush(self) -> None:
        self._run.flush()

    close = flush

    def reopen(self) -> None:
        """It is never closed before its run."""
