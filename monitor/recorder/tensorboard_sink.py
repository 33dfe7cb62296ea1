"""TensorBoard event files, by the tensorboard package's own writer."""

from __future__ import annotations

from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ...shared import Metric
from ...shared.rows.row_batch import RowBatch
from ...shared.runs.owners import make_private_folder
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ..export.tensorboard import Steps, write_batch


class TensorBoardSink:
    """Writes event files in `folder`, from the first row on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: EventFileWriter | None = None
        self._publish = 0
        self._steps = Steps()

    def take(self, batch: RowBatch, metrics: list[Metric]) -> None:
        if self._writer is None:
            make_private_folder(self._folder)
            self._writer = EventFileWriter(str(self._folder))
        publish, wall_ns, _, _, env_steps, _ = batch.heads[:, 0].tolist()
        if publish <= self._publish:  # TensorBoard drops what it has from this step on
            step = env_steps if env_steps >= 0 else publish
            start = SessionLog(status=SessionLog.START)
            self._writer.add_event(Event(wall_time=wall_ns / 1e9, step=step, session_log=start))
        self._publish = int(batch.publish[-1])
        write_batch(self._writer, batch, metrics, self._steps)
        self._writer.flush()

    def close(self, is_success: bool) -> None:
        if self._writer:
            self._writer.close()


def open_sink(run: Run, settings: RecorderSettings) -> TensorBoardSink:
    return TensorBoardSink(run.folder / "tensorboard")
