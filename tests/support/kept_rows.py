"""All rows of a run as its files have them."""

from __future__ import annotations

from operant.monitor.recorder.rows import Row, rows_of_batch
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.runs.run_folder import Run


def kept_rows(run: Run) -> list[Row]:
    """Every row, with what was written in it alone."""
    reader = RowFileReader(run.rows_path)
    try:
        metrics = reader.metrics()
        return [row for batch in reader.batches() for row in rows_of_batch(batch, metrics)]
    finally:
        reader.close()


def series(run: Run, name: str) -> list[tuple[int, float]]:
    """Steps and values of one metric."""
    return [(row.env_steps, row.metrics[name]) for row in kept_rows(run) if name in row.metrics]
