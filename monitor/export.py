"""A run's whole history as a table, and as files that other tools read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..shared import History, OperantError, UsageError
from ..shared.run_folder import Run
from ..shared.status import open_page
from .recorder.metrics_file import column_name
from .recorder.rows import rows_of

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "parquet", "tensorboard")
EXTRAS = {"parquet": "pyarrow", "tensorboard": "tensorboard"}  # and the package each needs


def export(run: Run, to: str, output: Path, *, rank: int = 0, spread: bool = False) -> int:
    """Write the history of one rank to `output`, a file, or a folder for TensorBoard.

    Returns the number of rows. Raises PageError when the run has no page that can be read,
    UsageError when a package is missing or `output` cannot be written.
    """
    reader = open_page(run, rank)
    try:
        history = reader.history()
    finally:
        reader.detach()
    try:
        _writers()[to](history, output, spread)
    except ImportError as error:
        raise UsageError(
            f"--to {to} needs {EXTRAS.get(to, error.name)}: `pip install operant-rl[{to}]`"
        ) from None
    except OSError as error:
        raise OperantError(f"cannot write {output}: {error.strerror or error}") from None
    return len(history)


def history_table(history: History, spread: bool = False) -> pd.DataFrame:
    """A row for each row of the history, oldest first; `publishes` says how many it stands for.

    A metric's column has its mean over these, empty where none wrote it; with `spread`,
    `<name>.min` and `<name>.max` stand beside it.
    """
    import pandas as pd

    columns: dict[str, object] = {
        "publish": history.publish,
        "publishes": history.num_publishes,
        "time": pd.to_datetime((history.wall_s * 1e6).round().astype("int64"), unit="us", utc=True),
        "elapsed_s": history.elapsed_s,
        "iteration": _counts(history.iteration),
        "env_steps": _counts(history.env_steps),
    }
    for name in history.names:
        series, column = history.series(name), column_name(name)
        columns[column] = series.mean
        if spread:
            columns[f"{column}.min"], columns[f"{column}.max"] = series.low, series.high
    return pd.DataFrame(columns)


def _counts(counts: object) -> pd.Series[int]:
    """Whole numbers, missing where they do not apply."""
    import pandas as pd

    series = pd.Series(counts, dtype="Int64")
    return series.mask(series < 0)


def _write_csv(history: History, output: Path, spread: bool) -> None:
    table = history_table(history, spread)
    _whole(output, lambda path: table.to_csv(path, index=False))


def _write_parquet(history: History, output: Path, spread: bool) -> None:
    import pyarrow  # noqa: F401  pandas' own error would name packages that operant does not use

    table = history_table(history, spread)
    _whole(output, lambda path: table.to_parquet(path, index=False, engine="pyarrow"))


def _write_tensorboard(history: History, output: Path, spread: bool) -> None:
    from .recorder.tensorboard_sink import TensorBoardSink

    if output.exists() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty: TensorBoard would show both runs as one")
    sink = TensorBoardSink(output)
    sink.write(0, rows_of(history))
    sink.close(is_success=True)


def _writers() -> dict[str, Callable[[History, Path, bool], None]]:
    return {"csv": _write_csv, "parquet": _write_parquet, "tensorboard": _write_tensorboard}


def _whole(output: Path, write: Callable[[Path], None]) -> None:
    """Have `write` make a file that takes the place of `output` in one step."""
    building = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        write(building)
        building.rename(output)
    finally:
        building.unlink(missing_ok=True)
