"""Converts values from wandb's files and messages: JSON, in which media are references to files in
the run's folder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .media import Histogram, Image, Media, Video

_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class TableFile(Media):
    """A table in wandb's file format, JSON."""

    kind = "tables"


_FILES: dict[str, type[Media]] = {
    "image-file": Image,
    "video-file": Video,
    "table-file": TableFile,
}


def logged_values(row: Mapping[str, Any], files: Path) -> dict[str, Any]:
    """`row` as a loop would log it, without wandb's own entries such as `_runtime`. Media are read
    from the folder `files` alone.
    """
    return {k: _logged_value(v, files) for k, v in row.items() if not k.startswith("_")}


def _logged_value(value: Any, files: Path) -> Any:
    if isinstance(value, str):
        return _NUMBERS.get(value, value)
    kind = value.get("_type") if isinstance(value, Mapping) else None
    if kind is None:
        return value
    if kind == "histogram":
        return Histogram(np_histogram=(value["values"], value["bins"]))
    if kind == "images/separated":
        return [_file(Image, path, files) for path in value.get("filenames", ())]
    return _file(_FILES[kind], value.get("path"), files) if kind in _FILES else None


def _file(make: type[Media], path: Any, files: Path) -> Media | None:
    """The media of a file; None for a path outside of `files`, which anyone may have written."""
    resolved = (files / str(path)).resolve()
    return make(resolved) if resolved.is_relative_to(files.resolve()) else None
