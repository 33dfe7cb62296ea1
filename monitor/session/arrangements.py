"""How the charts of each project stand, in a file beside the monitor's settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import tomli_w

from ...shared.runs.small_file import write_whole
from ...shared.text.harmless import harmless_toml
from ..charts.arrangement import Arrangement
from .settings import read_own

FILE_NAME = "charts.toml"
MAX_BYTES = 1 << 22
MAX_PROJECTS = 200  # those that were changed last
MAX_COLUMNS = 100
_STAMP = re.compile(r"^\d{8}-\d{6}-(?=.)")
_TAIL = re.compile(r"(?<=.)-[a-z0-9]{4}$")


def project_of(run_id: str) -> str:
    """The project of a run: the middle of its id, which is its name, or its environment and
    algorithm if it was given no name.
    """
    return _TAIL.sub("", _STAMP.sub("", run_id))


class Arrangements:
    """The arrangements in the file at `path`, read once; without a path, of this session only.

    A change goes into what stands in the file by then, so that several monitors may be open.
    `problem` is what is wrong with the file, in one line, or nothing; what is wrong is left out.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        given, self.problem = read_own(path, MAX_BYTES) if path else ({}, "")
        self._known = {project: _arrangement(table) for project, table in given.items()}
        wrong = [project for project, one in self._known.items() if one is None]
        if wrong:
            self.problem = f"{path}: {wrong[0]} is not possible"

    def of(self, project: str) -> Arrangement:
        return self._known.get(project) or Arrangement()

    def keep(self, project: str, arrangement: Arrangement) -> None:
        """Remember it. Raises OSError when the disk does not take it."""
        arrangement = arrangement.kept()
        if arrangement == self.of(project):
            return
        self._known[project] = arrangement
        if self._path is None:
            return
        tables, problem = read_own(self._path, MAX_BYTES)
        if problem:  # somebody's edit went wrong: it stays, to be mended
            return
        tables.pop(project, None)
        table = _table(arrangement)
        if table:
            tables[project] = table
        newest = dict(list(tables.items())[-MAX_PROJECTS:])
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = harmless_toml(tomli_w.dumps(newest))
        write_whole(self._path.resolve(), text.encode(), outlives_power_cut=False)


def _arrangement(table: Any) -> Arrangement | None:
    """The arrangement of a table; None if `_table` would not have made it."""
    if not isinstance(table, dict) or table.keys() - {"pinned", "hidden", "collapsed", "columns"}:
        return None
    columns = table.get("columns", 0)
    names = [table.get(key, []) for key in ("pinned", "hidden", "collapsed")]
    if type(columns) is not int or not 0 <= columns <= MAX_COLUMNS:
        return None
    if not all(isinstance(some, list) and all(isinstance(n, str) for n in some) for some in names):
        return None
    pinned, hidden, collapsed = (tuple(dict.fromkeys(some)) for some in names)
    return Arrangement(pinned, hidden, collapsed, columns)


def _table(arrangement: Arrangement) -> dict[str, Any]:
    """The values that differ from the defaults."""
    names = {key: list(getattr(arrangement, key)) for key in ("pinned", "hidden", "collapsed")}
    table: dict[str, Any] = {key: some for key, some in names.items() if some}
    return table | ({"columns": arrangement.columns} if arrangement.columns else {})
