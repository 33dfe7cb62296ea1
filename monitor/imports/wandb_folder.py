"""Imports what wandb wrote into the folder of a run: `run-ID.wandb`, a log of messages in the
format of LevelDB's logs, and media beside it.
"""

from __future__ import annotations

import importlib
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ...shared.errors import UsageError
from ...shared.integrations.process_end import ending_of
from ...shared.integrations.wandb_values import logged_values
from ...shared.runs.recorder_process import lacking
from ...shared.text.plain_values import described_error
from .imported_run import MAX_RECORD_BYTES, NO_ROWS, ImportedRun

_FILE_HEAD = struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
# A record is cut into pieces that fit into blocks: CRC-32 of type and data, bytes of data, type.
_PIECE = struct.Struct("<IHB")
_BLOCK_BYTES = 1 << 15
_WHOLE, _LAST = 1, 4  # the first is 2, those between 3


class WandbFolder:
    """One run: a folder such as `offline-run-20261121_142530-k3f9`."""

    def __init__(self, log: Path) -> None:
        self.path, self.files = log, [log]
        self.name = log.stem.removeprefix("run-")

    def began_s(self) -> float:
        """Takes the run's name too."""
        problems: list[str] = []
        for record in self._records(problems.append):
            if record.WhichOneof("record_type") == "run":
                self.name = record.run.display_name or self.name
                return float(record.run.start_time.ToMicroseconds() / 1e6)
        raise UsageError(problems[0] if problems else NO_ROWS)

    def write(self, run: ImportedRun) -> None:
        config: dict[str, Any] = {}
        summary: dict[str, Any] = {}

        def warn(text: str) -> None:
            run.warn_once(text, f"{self.path}: {text}")

        for record in self._records(warn):
            try:
                self._take(record, run, config, summary)
            except Exception as error:  # the messages are bytes that anyone may have written
                warn(f"a record is not imported: {described_error(error)}")
        config.pop("_wandb", None)  # about the library
        run.config.update(config)
        run.summary.update(summary)

    def _take(
        self, record: Any, run: ImportedRun, config: dict[str, Any], summary: dict[str, Any]
    ) -> None:
        """Log a record. Configuration and summary are collected: each change writes run.toml."""
        kind = record.WhichOneof("record_type")
        files = self.path.parent / "files"
        if kind == "history":
            row = _values(record.history.item)
            step = record.history.step.num if record.history.HasField("step") else None
            step = row.get("_step", step)
            run.log_at(float(row.get("_timestamp", 0)), logged_values(row, files), step)
        elif kind == "run":
            about = record.run
            run.project, run.group = about.project, about.run_group
            run.job_type, run.notes, run.tags = about.job_type, about.notes, tuple(about.tags)
            config |= _values(about.config.update)
        elif kind == "config":
            config |= _values(record.config.update)
        elif kind == "summary":
            summary |= logged_values(_values(record.summary.update), files)
        elif kind == "metric":
            metric = record.metric
            run.define_metric(metric.name or metric.glob_name, metric.step_metric)
        elif kind == "alert":
            run.alert(record.alert.title, record.alert.text, record.alert.level)
        elif kind == "exit":
            run.ending = ending_of(SystemExit(record.exit.exit_code))

    def _records(self, warn: Callable[[str], None]) -> Iterator[Any]:
        """The messages up to the first that is damaged."""
        if missing := lacking("wandb"):
            raise UsageError(missing)
        messages = importlib.import_module("wandb.proto.wandb_internal_pb2")
        num_records = 0
        try:
            with self.path.open("rb") as log:
                for data in _log_records(log):
                    if data is None:
                        warn(f"records of more than {MAX_RECORD_BYTES >> 20} MiB are left out")
                    else:
                        yield messages.Record.FromString(data)
                    num_records += 1
        except Exception as error:
            warn(f"stopped after {num_records} records: {error}")


def _values(items: Iterable[Any]) -> dict[str, Any]:
    """Names and values; wandb has an item for each leaf of a nested one."""
    values: dict[str, Any] = {}
    for item in items:
        *outer, name = item.nested_key or [item.key]
        inner = values
        for key in outer:
            inner = inner.setdefault(key, {})
        inner[name] = json.loads(item.value_json)
    return values


def _log_records(log: BinaryIO) -> Iterator[bytes | None]:
    """The records of a log; None for one of more than `MAX_RECORD_BYTES`. Raises ValueError where
    it is damaged.
    """
    if log.read(len(_FILE_HEAD)) != _FILE_HEAD:
        raise ValueError("it is no log of wandb's")
    record = bytearray()
    while True:
        left_in_block = _BLOCK_BYTES - log.tell() % _BLOCK_BYTES
        if left_in_block < _PIECE.size:
            log.read(left_in_block)
        head = log.read(_PIECE.size)
        if not head and not record:
            return
        if len(head) < _PIECE.size:
            raise ValueError("it is cut off")
        crc, size, kind = _PIECE.unpack(head)
        data = log.read(size)
        if crc != zlib.crc32(data, zlib.crc32(bytes([kind]))):
            raise ValueError(f"it is cut off or damaged before byte {log.tell()}")
        if len(record) <= MAX_RECORD_BYTES:
            record += data
        if kind in (_WHOLE, _LAST):
            yield bytes(record) if len(record) <= MAX_RECORD_BYTES else None
            record.clear()
