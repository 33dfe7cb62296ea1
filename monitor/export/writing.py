"""Every row of a run as a table, and as files that other tools read."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...shared import Metric, OperantError, UsageError
from ...shared.install_command import install_command
from ...shared.page.layout import NEVER_BITS
from ...shared.rows.row_batch import RowBatch
from ...shared.runs.run_folder import Run
from ...shared.text.harmless import harmless
from .rows import ExportedRows

EXTRAS = {"parquet": "pyarrow", "tensorboard": "tensorboard"}  # and the package each needs
HEAD = ("publish", "publishes", "time", "elapsed_s", "iteration", "env_steps")
_PIECE_CELLS = 1 << 18  # made into Python's objects at once


class Exported(NamedTuple):
    """What was written, how many rows were lost before anyone could keep them, and what is wrong
    with the file of rows, if anything.
    """

    num_rows: int
    num_lost: int
    problem: str


def export(run: Run, to: str, output: Path, *, spread: bool = False) -> Exported:
    """Write the rows of a run to `output`, a file, or a folder for TensorBoard.

    Raises PageError when the run has neither rows nor a page that can be read, UsageError when a
    package is missing or `output` cannot be written.
    """
    rows = ExportedRows(run, spread)
    try:
        _writers()[to](rows, output)
    except ImportError as error:
        raise UsageError(
            f"--to {to} needs {EXTRAS.get(to, error.name)}: `{install_command(to)}`"
        ) from None
    except OSError as error:
        raise OperantError(f"cannot write {output}: {error.strerror or error}") from None
    finally:
        rows.close()
    return Exported(rows.num_rows, rows.num_lost, rows.problem)


def column_names(metrics: list[Metric]) -> list[str]:
    """A column for each metric: its name, made harmless, and `metrics/` before it as often as it
    takes to tell it from the other columns.
    """
    taken, names = set(HEAD), []
    for metric in metrics:
        name = harmless(metric.name)
        while name in taken:
            name = f"metrics/{name}"
        taken.add(name)
        names.append(name)
    return names


def _write_csv(rows: ExportedRows, output: Path) -> None:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*HEAD, *column_names(rows.metrics)])
            for piece in _pieces(rows):
                writer.writerows(_lines(piece, len(rows.metrics)))

    _whole(output, write)


def _pieces(rows: ExportedRows) -> Iterator[RowBatch]:
    length = max(1, _PIECE_CELLS // (len(HEAD) + len(rows.metrics)))
    for batch in rows:
        for begin in range(0, len(batch), length):
            yield batch.part(slice(begin, begin + length))


def _lines(batch: RowBatch, num_metrics: int) -> Iterator[list[Any]]:
    """Cells; None for what was never written or does not apply."""
    publish, wall_ns, elapsed_ns, iteration, env_steps, publishes = batch.heads
    times = np.datetime_as_string((wall_ns // 1000).view("datetime64[us]"))
    heads = (
        publish.tolist(),
        publishes.tolist(),
        [f"{time.replace('T', ' ')}+00:00" for time in times.tolist()],
        (elapsed_ns / 1e9).tolist(),
        [count if count >= 0 else None for count in iteration.tolist()],
        [count if count >= 0 else None for count in env_steps.tolist()],
    )
    cells = np.full((len(batch), num_metrics), None, object)
    values = batch.values.astype(object)
    values[~_is_written(batch)] = None
    cells[:, batch.places] = values.T
    for head, row in zip(zip(*heads, strict=True), cells.tolist(), strict=True):
        yield [*head, *row]


def _is_written(batch: RowBatch) -> np.ndarray[Any, np.dtype[np.bool_]]:
    values = np.ascontiguousarray(batch.values)
    is_written: np.ndarray[Any, np.dtype[np.bool_]] = values.view(np.uint64) != NEVER_BITS
    return is_written


def _write_parquet(rows: ExportedRows, output: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    whole, time = pyarrow.int64(), pyarrow.timestamp("us", "UTC")
    kinds = (whole, whole, time, pyarrow.float64(), whole, whole)
    columns = [(name, pyarrow.float64()) for name in column_names(rows.metrics)]
    schema = pyarrow.schema([*zip(HEAD, kinds, strict=True), *columns])

    def write(path: Path) -> None:
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            for batch in rows:
                arrays = _arrays(batch, len(columns))
                writer.write_table(pyarrow.table(arrays, schema=schema))

    _whole(output, write)


def _arrays(batch: RowBatch, num_metrics: int) -> list[Any]:
    """Of pyarrow; null for what was never written or does not apply, NaN only where it was."""
    import pyarrow

    publish, wall_ns, elapsed_ns, iteration, env_steps, publishes = batch.heads
    time = pyarrow.array(wall_ns // 1000).cast(pyarrow.timestamp("us", "UTC"))
    arrays = [pyarrow.array(publish), pyarrow.array(publishes), time]
    arrays.append(pyarrow.array(elapsed_ns / 1e9))
    arrays += [pyarrow.array(counts, mask=counts < 0) for counts in (iteration, env_steps)]
    columns = [pyarrow.nulls(len(batch), pyarrow.float64())] * num_metrics
    is_written = _is_written(batch)
    for place, values, mask in zip(batch.places.tolist(), batch.values, is_written, strict=True):
        columns[place] = pyarrow.array(values, mask=~mask)
    return [*arrays, *columns]


def _write_tensorboard(rows: ExportedRows, output: Path) -> None:
    from .tensorboard import write_tensorboard

    if output.exists() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty: TensorBoard would show both runs as one")
    write_tensorboard(rows, output)


def _writers() -> dict[str, Callable[[ExportedRows, Path], None]]:
    return {"csv": _write_csv, "parquet": _write_parquet, "tensorboard": _write_tensorboard}


def _whole(output: Path, write: Callable[[Path], None]) -> None:
    """Have `write` make a file that takes the place of `output` in one step."""
    building = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        write(building)
        building.rename(output)
    finally:
        building.unlink(missing_ok=True)
