"""Tables in the shape of wandb's, kept as CSV files."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterator, Sequence
from typing import Any

from ..text.plain_values import plain, text_of
from .accepted import unknown_keywords
from .media import Media, WriteFile
from .media_folder import MAX_FILE_BYTES


class Table(Media):
    """Rows under columns; pictures and other media among the cells are files of their own."""

    kind, ending = "tables", ".csv"
    MAX_ROWS = MAX_ARTIFACT_ROWS = 200_000

    def __init__(
        self,
        columns: Any = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        **keywords: Any,
    ) -> None:
        super().__init__()
        for known in ("dtype", "optional", "allow_mixed_types", "log_mode"):
            keywords.pop(known, None)
        unknown_keywords("Table", keywords)
        frame = data if hasattr(data, "itertuples") else dataframe
        if frame is not None:
            self.columns = [text_of(column) for column in frame.columns]
            self.data = [list(row) for row in frame.itertuples(index=False, name=None)]
            return
        given = data if data is not None else rows
        self.data = [_cells(row) for row in given] if given is not None else []
        width = max((len(row) for row in self.data), default=0)
        default = ["Input", "Output", "Expected"] if not width else range(width)
        self.columns = [text_of(column) for column in (columns if columns is not None else default)]

    def add_data(self, *cells: Any) -> None:
        """Add a row."""
        self.data.append(list(cells))

    def add_row(self, *row: Any) -> None:
        self.data.append(_cells(row[0]) if len(row) == 1 else list(row))

    def add_column(self, name: str, data: Any, optional: bool = False) -> None:
        cells = list(data)
        if not self.data:
            self.data = [[] for _ in cells]
            self.columns = [] if not any(self.data) else self.columns
        for row, cell in zip(self.data, cells, strict=False):
            row.append(cell)
        self.columns.append(text_of(name))

    def add_computed_columns(self, fn: Any) -> None:
        """`fn(index, row as a dict)` gives further cells by column."""
        for index, row in enumerate(self.data):
            more = fn(index, dict(zip(self.columns, row, strict=False)))
            row.extend(more.values())
            new = [name for name in more if name not in self.columns]
            self.columns.extend(new)

    def get_column(self, name: str, convert_to: str | None = None) -> Any:
        at = self.columns.index(name)
        cells = [row[at] for row in self.data]
        if convert_to == "numpy":
            import numpy as np

            return np.asarray(cells)
        return cells

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        yield from enumerate(self.data)

    def get_index(self) -> list[int]:
        return list(range(len(self.data)))

    def get_dataframe(self) -> Any:
        """Of pandas, which the loop then has imported itself."""
        return importlib.import_module("pandas").DataFrame(self.data, columns=self.columns)

    def write(self, name: str, write_file: WriteFile) -> None:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(self.columns)
        for number, row in enumerate(self.data):
            writer.writerow([_cell(f"{name}.{number}", cell, write_file) for cell in row])
            if text.tell() > MAX_FILE_BYTES:
                raise ValueError(f"{len(self.data)} rows are more than {MAX_FILE_BYTES >> 20} MiB")
        write_file(name, ".csv", text.getvalue().encode("utf-8", "replace"))


class JoinedTable(Table):
    """Two tables; both are kept."""

    def __init__(self, table1: Any = None, table2: Any = None, join_key: Any = None) -> None:
        super().__init__()
        self._both = [table for table in (table1, table2) if isinstance(table, Table)]

    def write(self, name: str, write_file: WriteFile) -> None:
        for number, table in enumerate(self._both, 1):
            table.write(f"{name}.{number}", write_file)


def _cells(row: Any) -> list[Any]:
    return list(row) if isinstance(row, Sequence) and not isinstance(row, str) else _listed(row)


def _listed(row: Any) -> list[Any]:
    listed = row.tolist() if hasattr(row, "tolist") else row
    return list(listed) if isinstance(listed, list | tuple) else [listed]


def _cell(name: str, cell: Any, write_file: WriteFile) -> Any:
    if cell is None or type(cell) in (bool, int, float):
        return cell
    if not isinstance(cell, Media):
        # Lists that hold each other twice unfold into billions.
        return text_of(cell) if isinstance(cell, str) else str(plain(cell))
    names: list[str] = []
    cell.write(name, lambda *file: names.append(write_file(*file).name))
    return " ".join(names) or " ".join(f"{k}={v:g}" for k, v in cell.numbers().items())
