"""TensorBoard event files, by the tensorboard package's own writer."""

from __future__ import annotations

from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ...shared import Metric
from ...shared.rows.rows import RowBatch
from ...shared.runs.owners import make_private_folder
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ..export.tensorboard import Steps, write_batch


class TensorBoardSink:
    """One folder of event files a rank: rank 0 in `folder`, others in a folder below it each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[int, EventFileWriter] = {}
        self._publishes: dict[int, int] = {}
        self._steps: dict[int, Steps] = {}

    def take(self, rank: int, batch: RowBatch, metrics: list[Metric]) -> None:
        writer = self._writer(rank)
        publish, wall_ns, _, _, env_steps, _ = batch.heads[:, 0].tolist()
        self._go_back_to(rank, publish, wall_ns / 1e9, env_steps if env_steps >= 0 else publish)
        self._publishes[rank] = int(batch.publish[-1])
        write_batch(writer, batch, metrics, self._steps.setdefault(rank, Steps()))
        writer.flush()

    def _go_back_to(self, rank: int, publish: int, wall_s: float, step: int) -> None:
        """Of a run that does rows again, TensorBoard drops what it has from this step on."""
        if publish <= self._publishes.get(rank, 0):
            start = SessionLog(status=SessionLog.START)
            self._writer(rank).add_event(Event(wall_time=wall_s, step=step, session_log=start))

    def close(self, is_success: bool) -> None:
        for writer in self._writers.values():
            writer.close()

    def _writer(self, rank: int) -> EventFileWriter:
        if rank not in self._writers:
            folder = self._folder / f"rank-{rank}" if rank else self._folder
            for each in dict.fromkeys((self._folder, folder)):
                make_private_folder(each)
            self._writers[rank] = EventFileWriter(str(folder))
        return self._writers[rank]


def open_sink(run: Run, settings: RecorderSettings) -> TensorBoardSink:
    return TensorBoardSink(run.folder / "tensorboard")
