"""Imports TensorBoard's event files."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ...shared.errors import UsageError
from ...shared.integrations.tensorboard_events import EventRecorder, event_class
from ...shared.runs.recorder_process import lacking
from ...shared.text.plain_values import described_error
from .imported_run import ImportedRun, name_of


class EventFiles:
    """All event files of a folder and of the folders in it: one run."""

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.path, self.files = path, files
        self._root = path if path.is_dir() else path.parent
        self.name = name_of(self._root)

    def began_s(self) -> float:
        problems: list[str] = []
        files = [_events(file, problems.append) for file in self.files]
        # The first event is no row: it says when the file was made, by another clock perhaps.
        rows = [next((e for _, e in events if e.summary.value), None) for events in files]
        times = [row.wall_time for row in rows if row]
        if not times:
            raise UsageError("it has no event that can be read" if problems else "it is empty")
        return float(min(times))

    def write(self, run: ImportedRun) -> None:
        recorder = EventRecorder(run, str(self._root))

        def warn(text: str) -> None:
            run.warn_once(text, text)

        files = [_events(file, warn) for file in self.files]
        step, of_results = 0, set()
        for folder, event in heapq.merge(*files, key=lambda found: found[1].wall_time):
            if not event.summary.value:
                continue
            if any(
                value.metadata.plugin_data.plugin_name == "hparams" for value in event.summary.value
            ):
                of_results.add(folder)
            if event.step == 0 and folder in of_results:  # SummaryWriter.add_hparams gives no step
                event.step = step
            step = event.step
            run.go_to(event.wall_time, event.step)
            try:
                recorder.record(folder, event)
            except Exception as error:  # the messages are bytes that anyone may have written
                warn(f"an event of {folder} is not imported: {described_error(error)}")


def _events(file: Path, warn: Callable[[str], None]) -> Iterator[tuple[str, Any]]:
    """The folder of `file`, and each of its events up to the first that is damaged."""
    if missing := lacking("tensorboard"):
        raise UsageError(missing)
    from tensorboard.compat.tensorflow_stub import errors
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

    event = event_class()
    reader = PyRecordReader_New(str(file))
    num_events = 0
    while True:
        try:
            reader.GetNext()
            found = event.FromString(reader.record())
        except errors.OutOfRangeError:  # the end
            return
        except Exception as error:
            reason = "it is cut off" if "truncated" in str(error) else "it is damaged"
            warn(f"{file}: stopped after {num_events} events: {reason}")
            return
        num_events += 1
        yield str(file.parent), found
