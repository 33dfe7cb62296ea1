"""Imports the CSV files of Stable-Baselines3, RL Zoo and Lightning."""

from __future__ import annotations

import csv
import heapq
import importlib
import itertools
import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
_ORDERED_DICT = "tag:yaml.org,2002:python/object/apply:collections.OrderedDict"


MAX_EVALUATIONS_BYTES = 256 << 20  # unpacked


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


class MonitorLogs:
    """Files of Stable-Baselines3 and RL Zoo: `Monitor` writes the episodes of each environment to
    `N.monitor.csv`, `EvalCallback` writes evaluations to `evaluations.npz`.
    """

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.path, self.files = path, files
        self._folder = path if path.is_dir() else path.parent
        self.name = name_of(self._folder)

    def began_s(self) -> float:
        return min(_monitor_head(file)[0] for file in self.files)

    def write(self, run: ImportedRun) -> None:
        for path in sorted(self._folder.glob("*/*.yml")):  # RL Zoo: ENV/config.yml and args.yml
            run.config.update(_settings(path, run))
        _, about = _monitor_head(self.files[0])
        if env := about.get("env_id"):
            run.config.update({"env": env})
        rows = heapq.merge(
            self._episodes(run), self._evaluations(run), key=lambda row: row.step or 0
        )
        for row in rows:
            run.log_at(row.wall_s, row.values, row.step)

    def _episodes(self, run: ImportedRun) -> Iterator[Row]:
        files = [_episodes(file, run) for file in self.files]
        num_steps = 0
        for row in heapq.merge(*files, key=lambda row: row.wall_s):
            num_steps += row.step or 0
            yield row._replace(step=num_steps)

    def _evaluations(self, run: ImportedRun) -> Iterator[Row]:
        path = self._folder / "evaluations.npz"
        if not path.is_file():
            return
        try:
            rows = _evaluations(path)
        except Exception as error:
            run.warn_once(str(path), f"{path} is not imported: {described_error(error)}")
            return
        yield from rows


def _cells(
    path: Path, run: ImportedRun | None, num_head_lines: int = 0
) -> Iterator[dict[str, float]]:
    """The numbers of each line of a table, by column. Ends where the file is damaged, and warns
    `run` of that.
    """
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        lines = csv.reader(itertools.islice(file, num_head_lines, None))
        num_lines = num_head_lines
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


def _monitor_head(path: Path) -> tuple[float, dict[str, Any]]:
    """When a file of `Monitor` begins, in seconds since 1970, and all that its first line says."""
    with path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline(1 << 16)
    try:
        about = json.loads(line.removeprefix("#"))
        return float(about["t_start"]), about
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(f"{path} is no file of Monitor's: it begins with {line[:40]!r}") from None


def _episodes(path: Path, run: ImportedRun) -> Iterator[Row]:
    """The episodes of one environment; the step of each is its length."""
    began_s, _ = _monitor_head(path)
    names = {"r": "episode/return", "l": "episode/length"}
    for cells in _cells(path, run, num_head_lines=1):
        length, elapsed_s = _first(cells, ("l",)), _first(cells, ("t",))
        if length is not None and elapsed_s is not None:  # else the last line is cut off
            values = {names.get(name, name): cells[name] for name in cells if name != "t"}
            yield Row(int(length), began_s + elapsed_s, values)


def _evaluations(path: Path) -> list[Row]:
    """The evaluations in a file of `EvalCallback`; their times are those of the episodes before.
    Raises an error of some kind if it is no such file.
    """
    with zipfile.ZipFile(path) as packed:
        num_bytes = sum(each.file_size for each in packed.infolist())
        if num_bytes > MAX_EVALUATIONS_BYTES:
            raise ValueError(f"it has {num_bytes} bytes")
    with np.load(path, allow_pickle=False) as found:
        columns = (found["timesteps"].tolist(), found["results"], found["ep_lengths"])
    return [
        Row(
            int(step),
            math.nan,
            {"evaluation/return": float(rewards.mean()), "evaluation/length": float(sizes.mean())},
        )
        for step, rewards, sizes in zip(*columns, strict=False)
        if rewards.size and sizes.size
    ]


def _settings(path: Path, run: ImportedRun) -> dict[str, Any]:
    """The configuration in a file of YAML; empty if there is none."""
    if not path.is_file():
        return {}
    try:
        yaml = importlib.import_module("yaml")
        loader: Any = type("Loader", (yaml.SafeLoader,), {})
        loader.add_constructor(  # as RL Zoo writes its settings
            _ORDERED_DICT, lambda loader, node: dict(loader.construct_sequence(node, deep=True)[0])
        )
        with path.open(encoding="utf-8") as file:
            return dict(yaml.load(file, loader) or {})
    except Exception as error:  # the library is missing, or the file is damaged
        run.warn_once(str(path), f"{path} is not imported: {described_error(error)}")
        return {}
