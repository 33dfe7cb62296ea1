"""Imports the CSV files of Stable-Baselines3, Lightning and others."""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...shared.errors import UsageError
from ...shared.text.plain_values import described_error
from .imported_run import NO_ROWS, ImportedRun, name_of

TABLES = ("progress.csv", "metrics.csv")  # each run has one of these in a folder of its own
# Columns that hold no metric but a row's step, its time since 1970, or since the run began.
_STEPS = (
    "env_steps", "time/total_timesteps", "total_timesteps", "timesteps", "global_step", "step",
    "_step",
)  # fmt: skip
_WALL_S = ("_timestamp", "wall_time", "timestamp")
_ELAPSED_S = ("time/time_elapsed", "_runtime", "elapsed_s")
_NO_METRICS = frozenset((*_STEPS, *_WALL_S, *_ELAPSED_S))


class Row(NamedTuple):
    step: int | None
    wall_s: float
    values: dict[str, Any]


class CsvLog:
    """A table with a row for each step: `progress.csv`, `metrics.csv` and the like."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, [path]
        self.name = name_of(path.parent) if path.name in TABLES else path.stem

    def began_s(self) -> float:
        first = next(self._rows(None), None)
        if first is None:
            raise UsageError(NO_ROWS)
        return first.wall_s

    def write(self, run: ImportedRun) -> None:
        run.config.update(_settings(self.path.parent / "hparams.yaml", run))
        for row in self._rows(run):
            run.log_at(row.wall_s, row.values, row.step)

    def _rows(self, run: ImportedRun | None) -> Iterator[Row]:
        last_s = self.path.stat().st_mtime
        elapsed_s = 0.0
        for cells in _cells(self.path, None):
            elapsed_s = max(elapsed_s, _first(cells, _ELAPSED_S) or 0.0)
        for cells in _cells(self.path, run):
            step, wall_s = _first(cells, _STEPS), _first(cells, _WALL_S)
            since_s = _first(cells, _ELAPSED_S)
            if wall_s is None:
                # Without any times, all rows have that of the file.
                wall_s = last_s - elapsed_s + (since_s or 0.0)
            values = {name: cells[name] for name in cells if name not in _NO_METRICS}
            if values:
                yield Row(None if step is None else int(step), wall_s, values)


def _cells(path: Path, run: ImportedRun | None) -> Iterator[dict[str, float]]:
    """The numbers of each line of a table, by column. Lines that begin with `#` are comments. Ends
    where the file is damaged, and warns `run` of that.
    """
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        lines = csv.reader(line for line in file if not line.startswith("#"))
        num_lines = 0
        try:
            names = next(lines, [])
            for cells in lines:
                num_lines += 1
                numbers = ((name, _number(cell)) for name, cell in zip(names, cells, strict=False))
                yield {name: number for name, number in numbers if number is not None}
        except csv.Error as error:
            if run:
                run.warn_once(str(path), f"{path}: stopped after {num_lines} lines: {error}")


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _first(cells: dict[str, float], names: tuple[str, ...]) -> float | None:
    """The number in the first of the columns `names` that the row has."""
    numbers = (cells[name] for name in names if name in cells)
    return next((number for number in numbers if math.isfinite(number)), None)


def _settings(path: Path, run: ImportedRun) -> dict[str, Any]:
    """The configuration in a file of YAML; empty if there is none."""
    if not path.is_file():
        return {}
    try:
        yaml = importlib.import_module("yaml")
        with path.open(encoding="utf-8") as file:
            return dict(yaml.safe_load(file) or {})
    except Exception as error:  # the library is missing, or the file is damaged
        run.warn_once(str(path), f"{path} is not imported: {described_error(error)}")
        return {}
