"""Imports the CSV files of Stable-Baselines3, Lightning and others."""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ...shared.errors import UsageError
from ...shared.runs.small_file import read_small
from ...shared.text.plain_values import described_error
from .imported_run import NO_ROWS, ImportedRun, name_of

TABLES = ("progress.csv", "metrics.csv")  # each run has one of these in a folder of its own
MAX_ROW_CHARACTERS, MAX_SETTINGS_BYTES = 1 << 20, 1 << 20
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
        problems: list[str] = []
        first = next(self._rows(problems.append), None)
        if first is None:
            raise UsageError(problems[0] if problems else NO_ROWS)
        return first.wall_s

    def write(self, run: ImportedRun) -> None:
        def warn(text: str) -> None:
            run.warn_once(text, f"{self.path}: {text}")

        run.config.update(_settings(self.path.parent / "hparams.yaml", run))
        for row in self._rows(warn):
            run.log_at(row.wall_s, row.values, row.step)

    def _rows(self, warn: Callable[[str], None]) -> Iterator[Row]:
        last_s = self.path.stat().st_mtime
        elapsed_s = 0.0
        for cells in _cells(self.path, warn):
            elapsed_s = max(elapsed_s, _first(cells, _ELAPSED_S) or 0.0)
        for cells in _cells(self.path, warn):
            step, wall_s = _first(cells, _STEPS), _first(cells, _WALL_S)
            since_s = _first(cells, _ELAPSED_S)
            if wall_s is None:
                # Without any times, all rows have that of the file.
                wall_s = last_s - elapsed_s + (since_s or 0.0)
            values = {name: cells[name] for name in cells if name not in _NO_METRICS}
            if values:
                yield Row(None if step is None else int(step), wall_s, values)


def _cells(path: Path, warn: Callable[[str], None]) -> Iterator[dict[str, float]]:
    """The numbers of each row of a table, by column. Ends where the file is damaged, and warns of
    that.
    """
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = _rows_of(file)
        num_rows = 0
        try:
            names = next(rows, [])
            for cells in rows:
                num_rows += 1
                numbers = ((name, _number(cell)) for name, cell in zip(names, cells, strict=False))
                yield {name: number for name, number in numbers if number is not None}
        except csv.Error as error:
            warn(f"stopped after {num_rows} lines: {error}")


def _rows_of(file: TextIO) -> Iterator[list[str]]:
    """The rows of a table, without lines that begin with `#`. Raises csv.Error."""
    num_characters = 0  # of the row that is read; it has several lines where a quote is open

    def lines() -> Iterator[str]:
        nonlocal num_characters
        while line := file.readline(MAX_ROW_CHARACTERS + 1):
            is_comment = line.startswith("#")
            num_characters += 0 if is_comment else len(line)
            if max(num_characters, len(line)) > MAX_ROW_CHARACTERS:
                raise csv.Error(f"a row has more than {MAX_ROW_CHARACTERS} characters")
            if not is_comment:
                yield line

    for row in csv.reader(lines()):
        num_characters = 0
        yield row


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
        return dict(yaml.safe_load(read_small(path, MAX_SETTINGS_BYTES)) or {})
    except Exception as error:  # the library is missing, or the file is damaged or too large
        run.warn_once(str(path), f"{path} is not imported: {described_error(error)}")
        return {}
