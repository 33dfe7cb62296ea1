"""Every row of a run as a table, and as files that other tools read."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...shared import Metric, OperantError, UsageError
from ...shared.install_command import install_command
from ...shared.rows.curves import Curves
from ...shared.rows.row_batch import RowBatch, is_written
from ...shared.runs.run_folder import Run
from ...shared.runs.small_file import replacing
from ...shared.text.harmless import harmless

EXTRAS = {"parquet": "pyarrow", "tensorboard": "tensorboard"}  # and the package each needs
HEAD = ("publish", "time", "elapsed_s", "iteration", "env_steps")
_PIECE_CELLS = 1 << 18  # made into Python's objects at once


class Exported(NamedTuple):
    """How many rows were written, how many were lost before anyone kept them, and what is wrong
    with the file of rows, if anything.
    """

    num_rows: int
    num_lost: int
    problem: str


def export(run: Run, to: str, output: Path) -> Exported:
    """Write the rows of a run to `output`, a file, or a folder for TensorBoard.

    Raises PageError when the run has neither rows nor a page that can be read, UsageError when a
    package is missing or `output` cannot be written.
    """
    with Curves.of_run(run) as curves:
        try:
            num_rows = _writers()[to](curves, output)
        except ImportError as error:
            raise UsageError(
                f"-o {output} needs {EXTRAS.get(to, error.name)}: `{install_command(to)}`"
            ) from None
        except OSError as error:
            raise OperantError(f"cannot write {output}: {error.strerror or error}") from None
        return Exported(num_rows, curves.num_lost, curves.problem)


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


def _write_csv(curves: Curves, output: Path) -> int:
    num_rows, num_metrics = 0, len(curves.metrics)
    with (
        replacing(output, by_several=True) as path,
        path.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*HEAD, *column_names(curves.metrics)])
        for piece in _pieces(curves):
            writer.writerows(_lines(piece, num_metrics))
            num_rows += len(piece)
    return num_rows


def _pieces(curves: Curves) -> Iterator[RowBatch]:
    length = max(1, _PIECE_CELLS // (len(HEAD) + len(curves.metrics)))
    for batch in curves.batches():
        for begin in range(0, len(batch), length):
            yield batch.part(slice(begin, begin + length))


def _lines(batch: RowBatch, num_metrics: int) -> Iterator[list[Any]]:
    """Cells; None for what was never written or does not apply."""
    publish, wall_ns, elapsed_ns, iteration, env_steps, _ = batch.heads
    times = np.datetime_as_string((wall_ns // 1000).view("datetime64[us]"))
    heads = (
        publish.tolist(),
        [f"{time.replace('T', ' ')}+00:00" for time in times.tolist()],
        (elapsed_ns / 1e9).tolist(),
        [count if count >= 0 else None for count in iteration.tolist()],
        [count if count >= 0 else None for count in env_steps.tolist()],
    )
    cells = np.full((len(batch), num_metrics), None, object)
    values = batch.values.astype(object)
    values[~is_written(batch.values)] = None
    cells[:, batch.places] = values.T
    for head, row in zip(zip(*heads, strict=True), cells.tolist(), strict=True):
        yield [*head, *row]


def _write_parquet(curves: Curves, output: Path) -> int:
    import pyarrow
    import pyarrow.parquet

    whole, time = pyarrow.int64(), pyarrow.timestamp("us", "UTC")
    kinds = (whole, time, pyarrow.float64(), whole, whole)
    columns = [(name, pyarrow.float64()) for name in column_names(curves.metrics)]
    schema = pyarrow.schema([*zip(HEAD, kinds, strict=True), *columns])

    num_rows = 0
    with (
        replacing(output, by_several=True) as path,
        pyarrow.parquet.ParquetWriter(path, schema) as writer,
    ):
        for batch in curves.batches():
            arrays = _arrays(batch, len(columns))
            writer.write_table(pyarrow.table(arrays, schema=schema))
            num_rows += len(batch)
    return num_rows


def _arrays(batch: RowBatch, num_metrics: int) -> list[Any]:
    """pyarrow arrays: null for values never written or inapplicable, NaN only where written."""
    import pyarrow

    publish, wall_ns, elapsed_ns, iteration, env_steps, _ = batch.heads
    time = pyarrow.array(wall_ns // 1000).cast(pyarrow.timestamp("us", "UTC"))
    arrays = [pyarrow.array(publish), time]
    arrays.append(pyarrow.array(elapsed_ns / 1e9))
    arrays += [pyarrow.array(counts, mask=counts < 0) for counts in (iteration, env_steps)]
    columns = [pyarrow.nulls(len(batch), pyarrow.float64())] * num_metrics
    masks = is_written(batch.values)
    for place, values, mask in zip(batch.places.tolist(), batch.values, masks, strict=True):
        columns[place] = pyarrow.array(values, mask=~mask)
    return [*arrays, *columns]


def _write_tensorboard(curves: Curves, output: Path) -> int:
    from .tensorboard import write_tensorboard

    if output.exists() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty: TensorBoard would show both runs as one")
    return write_tensorboard(curves, output)


def _writers() -> dict[str, Callable[[Curves, Path], int]]:
    return {"csv": _write_csv, "parquet": _write_parquet, "tensorboard": _write_tensorboard}
