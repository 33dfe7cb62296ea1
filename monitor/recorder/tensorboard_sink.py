"""TensorBoard event files, by the tensorboard package's own writer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from ...shared.recorder_process import RecorderSettings
from ...shared.run_folder import Run
from .rows import Row


class TensorBoardSink:
    """One folder of event files a rank: rank 0 in `folder`, others in a folder below it each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers: dict[int, EventFileWriter] = {}
        self._steps: dict[int, float] = {}

    def write(self, rank: int, rows: Sequence[Row]) -> None:
        writer = self._writer(rank)
        for row in rows:
            if row.step <= self._steps.get(rank, math.inf):
                # A run that went back, or a recorder that began anew: TensorBoard drops what
                # earlier files have from this step on.
                start = SessionLog(status=SessionLog.START)
                writer.add_event(Event(wall_time=row.wall_s, step=row.step, session_log=start))
            self._steps[rank] = row.step
            values = [
                Summary.Value(tag=name, simple_value=value) for name, value in row.written.items()
            ]
            summary = Summary(value=values)
            writer.add_event(Event(wall_time=row.wall_s, step=row.step, summary=summary))
        writer.flush()

    def close(self, is_success: bool) -> None:
        for writer in self._writers.values():
            writer.close()

    def _writer(self, rank: int) -> EventFileWriter:
        if rank not in self._writers:
            folder = self._folder / f"rank-{rank}" if rank else self._folder
            self._writers[rank] = EventFileWriter(str(folder))
        return self._writers[rank]


def open_sink(run: Run, settings: RecorderSettings) -> TensorBoardSink:
    return TensorBoardSink(run.folder / "tensorboard")
