"""A temporary folder with the files of runs on another machine, as far as they were sent."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import time
import weakref
from collections import deque
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...shared.processes.host import pid_namespace, process_start
from ...shared.runs.run_elsewhere import REPORT_FILE, RunElsewhere
from ...shared.runs.small_file import create_anew, open_to_change, written_whole
from ...shared.runs.status import RunReport
from ...shared.text.harmless import one_line
from ..runs.machine.machine import MachineSample
from .frames import (
    MACHINE_FILE,
    MAX_MEDIA_BYTES,
    MAX_ROWS_BYTES,
    MEDIA_FILE,
    MOST_BYTES,
    ROWS_FILE,
    Frame,
    StreamError,
)
from .mirrored_rows import MirroredRows

MAX_MIRROR_BYTES = 1 << 28  # of all files, and about of what readers of them keep in memory
MAX_RUNS = 1 << 14  # what is more is left out
_BYTES_A_VALUE = 150  # that a value of TOML or JSON takes in memory, beside its text
MAX_MEDIA = 32  # files that a run logged, the newest that came
_MEDIA_PATH = re.compile(r"(?:media/[\w-]{1,40}|episodes)/[^./][^/]{0,200}")
_OF_MACHINE = TypeAdapter[MachineSample | None](MachineSample | None)
_OF_REPORT = TypeAdapter(RunReport)
_FOLDER = "operant-mirror-{}-{}-{}-"  # the process that uses it: its namespace, number, start


@dataclass(frozen=True)
class Piece:
    """The head of a frame: `file` of run `run` has the frame's data at byte `at`. With a `size` the
    file begins anew, with so many bytes, all others zeros, unless it is here in that `version`. A
    run that is `gone` is forgotten. With `is_complete`, everything was sent as it is now. `part`
    and `level` say what of a file of rows it is, see `MirroredRows`; of media `part` is the path.
    """

    run: str = ""
    file: str = ""
    at: int = 0
    size: int | None = None
    version: str = ""
    part: str = ""
    level: int = 0
    is_gone: bool = False
    is_complete: bool | None = None


_OF_PIECE = TypeAdapter(Piece)


class Mirror:
    """A folder here for every run of `host` that a stream sends."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._folder = _new_folder()
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.runs: dict[str, RunElsewhere] = {}  # by their ids on the host
        self._costs: dict[str, dict[str, int]] = {}  # of files by name, by run
        self._versions: dict[str, str] = {}  # of pages, by run
        self._rows: dict[str, MirroredRows] = {}
        self._media: deque[Path] = deque()
        self._total = self._num_folders = 0

    def take(self, frame: Frame) -> Piece:
        """Write what came. Raises StreamError where it is no piece of a file that may be sent, or
        one that is too long.
        """
        try:
            piece = _OF_PIECE.validate_python(frame.head)
        except ValidationError as error:
            raise _refusal("head", error) from None
        if piece.is_gone:
            self.forget(piece.run)
        elif piece.file:
            try:
                self._write(piece, frame.data)
            except (OSError, ValueError, IndexError) as error:  # a name with a zero byte, ...
                text = one_line(f"{piece.file} cannot be written: {error}", 200)
                raise StreamError(text) from None
        return piece

    def forget(self, run_id: str) -> None:
        if run := self.runs.pop(run_id, None):
            if rows := self._rows.pop(run_id, None):
                rows.close()
            shutil.rmtree(run.folder, ignore_errors=True)
            self._versions.pop(run_id, None)
            self._total -= sum(self._costs.pop(run_id, {}).values())

    def close(self) -> None:
        for rows in self._rows.values():
            rows.close()
        self._remove()

    def _write(self, piece: Piece, data: bytes) -> None:
        if piece.file == ROWS_FILE:
            self._write_rows(piece, data)
            return
        if piece.file == MEDIA_FILE:
            self._write_media(piece, data)
            return
        most = MOST_BYTES.get(piece.file, -1)
        end = piece.at + len(data)
        if min(piece.at, piece.size or 0) < 0 or max(end, piece.size or 0) > most:
            raise StreamError(f"the stream sends {one_line(piece.file, 40)}, which may not be")
        if piece.file == REPORT_FILE:
            report = _checked(_OF_REPORT, REPORT_FILE, data)
            data = json.dumps(asdict(replace(report, received_ns=time.monotonic_ns()))).encode()
            piece = replace(piece, size=len(data))
        elif piece.file == MACHINE_FILE:
            _checked(_OF_MACHINE, MACHINE_FILE, data)
        if piece.version and self._versions.get(piece.run) == piece.version:
            return
        run = self._with_room(piece, _cost(piece, data))
        if run is None:
            return
        if piece.version:
            self._versions[piece.run] = piece.version
        path = run.folder / piece.file
        if piece.size is None:
            with os.fdopen(open_to_change(path), "r+b") as file:
                os.pwrite(file.fileno(), data, piece.at)
            return
        with written_whole(path, outlives_power_cut=False) as file:
            file.write(data)
            file.truncate(piece.size)

    def _write_media(self, piece: Piece, data: bytes) -> None:
        """Write a file that the run logged; of more than `MAX_MEDIA` the oldest is removed."""
        if not _MEDIA_PATH.fullmatch(piece.part) or len(data) > MAX_MEDIA_BYTES:
            raise StreamError(f"the stream sends {one_line(piece.part, 40)}, which may not be")
        run = self._with_room(piece, MAX_MEDIA * MAX_MEDIA_BYTES)
        if run is None:
            return
        path = run.folder / piece.part
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        with os.fdopen(create_anew(path), "wb") as file:
            file.write(data)
        if path not in self._media:
            self._media.append(path)
        if len(self._media) > MAX_MEDIA:
            oldest = self._media.popleft()
            oldest.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # it has other files
                oldest.parent.rmdir()

    def _write_rows(self, piece: Piece, data: bytes) -> None:
        run = self._with_room(piece, MAX_ROWS_BYTES)
        if run is None:
            return
        rows = self._rows.get(piece.run)
        if rows is None:
            rows = self._rows[piece.run] = MirroredRows(run.rows_path)
        rows.take(piece.part, piece.level, piece.at, data)

    def _with_room(self, piece: Piece, cost: int) -> RunElsewhere | None:
        """The run whose file shall take so many bytes; None where there is no room for them."""
        run = self.run(piece.run)
        if run is None:
            return None
        costs = self._costs.setdefault(piece.run, {})
        before = costs.get(piece.file, 0)
        if piece.size is None:
            cost = max(cost, before)
        if self._total + cost - before > MAX_MIRROR_BYTES:
            return None
        costs[piece.file] = cost
        self._total += cost - before
        return run

    def run(self, run_id: str) -> RunElsewhere | None:
        """The run, with a folder that has a number for a name; None where there are too many.
        Raises StreamError for an id that cannot be shown.
        """
        there = one_line(run_id, 200).replace("/", " ")
        if not there:
            raise StreamError("the stream names no run")
        run = self.runs.get(run_id)
        if run is None and len(self.runs) < MAX_RUNS:
            self._num_folders += 1
            folder = self._folder / str(self._num_folders)
            folder.mkdir(0o700)
            run = self.runs[run_id] = RunElsewhere(self.host, there, folder)
        return run


def read_machine(run: RunElsewhere) -> MachineSample | None:
    """The newest numbers of its machine; None where its process is gone."""
    with contextlib.suppress(OSError, StreamError):
        data = (run.folder / MACHINE_FILE).read_bytes()
        sample: MachineSample | None = _checked(_OF_MACHINE, MACHINE_FILE, data)
        return sample
    return None


def _cost(piece: Piece, data: bytes) -> int:
    """About how many bytes a file takes on disk, and in the memory of its readers."""
    return max(piece.at + len(data), piece.size or 0) + _BYTES_A_VALUE * (
        data.count(b"=") + data.count(b",") if piece.file.endswith((".toml", ".json")) else 0
    )


def _checked(adapter: TypeAdapter[Any], file: str, data: bytes) -> Any:
    """The value in a JSON file. Raises StreamError where it is of another kind or out of bounds."""
    try:
        text = json.dumps(_bounded(json.loads(data), file))
        return adapter.validate_json(text, strict=True)  # "nan" and false are no numbers
    except ValidationError as error:
        raise _refusal(file, error) from None
    except (ValueError, OverflowError, RecursionError):
        raise StreamError(f"the stream's {file} is damaged") from None


_LEAST = {"num_cores": 1, "total_memory_bytes": 1}
_UNBOUNDED = ("metrics", "env_steps_per_s", "progress_fraction", "eta_s")  # a loop may log any
_MOST = (1 << 63) - 1  # steps may be times in nanoseconds
_SHARES = ("core_loads", "utilization_fraction")


def _bounded(value: Any, name: str) -> Any:
    """`value` with its texts made harmless. Raises StreamError for a number that is out of bounds:
    what it measures is in its `name`.
    """
    if isinstance(value, dict):
        return {
            one_line(key, 208): _bounded(item, name if name == "metrics" else key)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_bounded(item, name) for item in value]
    if isinstance(value, str):
        return one_line(value, 1000)
    if value is None or isinstance(value, bool):
        return value
    if name in _UNBOUNDED:
        return float(value)
    is_count = name.endswith("_bytes") or name in ("age_s", "phase_s", "phase_left_s")
    least = _LEAST.get(name, 0 if is_count or name in _SHARES else -_MOST)
    if not least <= value <= (1 if name in _SHARES else _MOST):
        raise StreamError(f"the stream's {one_line(name, 40)} is out of bounds")
    return value


def _refusal(what: str, error: ValidationError) -> StreamError:
    """The first thing that is wrong, in one line."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return StreamError(one_line(f"the stream's {what} is wrong: {where}: {first['msg']}", 200))


def _new_folder() -> Path:
    """A folder that no other process uses. Those of processes that were killed are removed."""
    home, pid = Path(tempfile.gettempdir()), os.getpid()
    for folder in home.glob(_FOLDER.format(pid_namespace(), "*", "*") + "*"):
        other, start = map(int, folder.name.split("-")[3:5])
        if process_start(other) != start:
            shutil.rmtree(folder, ignore_errors=True)
    prefix = _FOLDER.format(pid_namespace(), pid, process_start(pid))
    return Path(tempfile.mkdtemp(prefix=prefix, dir=home))
