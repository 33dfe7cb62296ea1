"""Imports TensorBoard's event files."""

from __future__ import annotations

import heapq
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ...shared.errors import UsageError
from ...shared.integrations.tensorboard_events import EventRecorder, event_class
from ...shared.runs.recorder_process import lacking
from ...shared.text.plain_values import described_error
from .imported_run import MAX_RECORD_BYTES, ImportedRun, name_of

_RECORD_HEAD, _CRC = struct.Struct("<QI"), struct.Struct("<I")


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

        stale = _stale_steps(self.files)
        num_stale = 0
        files = [_events(file, warn) for file in self.files]
        step, of_results = 0, set()
        for file, event in heapq.merge(*files, key=lambda found: found[1].wall_time):
            folder = str(file.parent)
            num_stale += _drop_stale(event, stale.get(file, {}))
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
        if num_stale:
            warn(f"{num_stale} values are left out: a later file begins at their step or before it")


_Steps = dict[str | None, int]  # by tag; None stands for all tags


def _stale_steps(files: list[Path]) -> dict[Path, _Steps]:
    """From which step on the values of each file are stale, because a file that was begun after
    its last event, in the same folder, starts again at that step: all of them where it says so, as
    with `SummaryWriter(purge_step=)`, else those of the tags that it has as well.
    """
    stale: dict[Path, _Steps] = {}
    for folder in {file.parent for file in files}:
        inside = [file for file in files if file.parent == folder]
        if len(inside) > 1:
            starts = [start for file in inside if (start := _start_of(file))]
            later = sorted(starts, key=lambda start: start.began_s)
            steps: _Steps = {}
            for start in sorted(starts, key=lambda start: start.ended_s, reverse=True):
                while later and later[-1].began_s > start.ended_s:
                    for tag, step in later.pop().steps.items():
                        steps[tag] = min(step, steps.get(tag, step))
                stale[start.file] = dict(steps)
    return stale


class _Start(NamedTuple):
    """The first step of each tag of a file, and when its first and its last event were."""

    file: Path
    began_s: float
    ended_s: float
    steps: _Steps


def _start_of(file: Path) -> _Start | None:
    """None for a file without values."""
    steps: _Steps = {}
    times = []
    for _, event in _events(file, lambda _: None):
        if event.session_log.status == event.session_log.START:
            steps.setdefault(None, event.step)
        for value in event.summary.value:
            steps.setdefault(value.tag, event.step)
        if event.summary.value or event.HasField("session_log"):
            times.append(event.wall_time)
    return _Start(file, min(times), max(times), steps) if times else None


def _drop_stale(event: Any, stale: _Steps) -> int:
    """Take the values of `event` away that are stale; returns how many. Hyperparameters stay."""
    values = event.summary.value
    stale_ones = [
        number
        for number, value in enumerate(values)
        if any(event.step >= stale[tag] for tag in (None, value.tag) if tag in stale)
        and value.metadata.plugin_data.plugin_name != "hparams"
    ]
    for number in reversed(stale_ones):
        del values[number]
    return len(stale_ones)


def _events(file: Path, warn: Callable[[str], None]) -> Iterator[tuple[Path, Any]]:
    """`file`, and each of its events up to the first that is damaged."""
    if missing := lacking("tensorboard"):
        raise UsageError(missing)
    event = event_class()
    num_events = 0
    try:
        with file.open("rb") as opened:
            for record in _records(opened):
                if record is None:
                    warn(f"{file}: events of more than {MAX_RECORD_BYTES >> 20} MiB are left out")
                else:
                    yield file, event.FromString(record)
                num_events += 1
    except Exception as error:
        reason = str(error) if isinstance(error, _DamagedError) else "it is damaged"
        warn(f"{file}: stopped after {num_events} events: {reason}")


class _DamagedError(Exception):
    """An event file is cut off or damaged here."""


def _records(file: BinaryIO) -> Iterator[bytes | None]:
    """The records of an event file: the length and its checksum, the data and its checksum. None
    for one of more than `MAX_RECORD_BYTES`. Raises _DamagedError.
    """
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    while head := file.read(_RECORD_HEAD.size):
        if len(head) < _RECORD_HEAD.size:
            raise _DamagedError("it is cut off")
        size, crc = _RECORD_HEAD.unpack(head)
        if crc != masked_crc32c(head[:8]):
            raise _DamagedError("it is damaged")
        if size > MAX_RECORD_BYTES:
            file.seek(min(size + _CRC.size, 1 << 62), os.SEEK_CUR)
            yield None
            continue
        data, crc_of_data = file.read(size), file.read(_CRC.size)
        if len(data) < size or len(crc_of_data) < _CRC.size:
            raise _DamagedError("it is cut off")
        if _CRC.unpack(crc_of_data)[0] != masked_crc32c(data):
            raise _DamagedError("it is damaged")
        yield data
