"""A folder of routes, parsed once and then mapped into memory.

The cache is one NumPy array of float64, in a file of the user's cache folder; nothing is written
into the folder of routes:

    offsets [R + 1]    where each route's rows begin, and where the last one's end
    rows [sum, 5]      of all routes, in the order of `FIELDS`

Its name carries a digest of the names, sizes and times of the route files: other files have
another cache. A broken route has no rows.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

from ....shared.errors import NotHereError, UsageError
from ....shared.runs.small_file import replacing
from .route_file import FIELDS, RouteError, read_route
from .routes import Routes, side_by_side

FORMAT = 1
PREFIX = "routes-"
Progress = Callable[[Iterable[Path], int], Iterable[Path]]


class RouteFolder:
    """All routes of a folder; taking some of them reads nothing but their rows."""

    def __init__(
        self,
        folder: Path,
        *,
        skip_broken: bool = False,
        progress: Progress = lambda paths, _: paths,
    ) -> None:
        """Parse the folder, or map its cache. `broken` are the reasons why routes were left out.

        `progress` is handed the files to parse and their number. Raises UsageError where no route
        can be driven, and for a broken route unless `skip_broken`.
        """
        self._paths = route_paths(folder)
        self._offsets, self._rows = _load_or_parse(folder, self._paths, progress)
        lengths = np.diff(self._offsets)
        self.broken = [_reason(self._paths[i]) for i in np.flatnonzero(lengths == 0)]
        if self.broken and not skip_broken:
            more = f" (and {len(self.broken) - 1} more)" if len(self.broken) > 1 else ""
            raise RouteError(f"{self.broken[0]}{more}; --skip-broken leaves such routes out")
        self._good = np.flatnonzero(lengths)
        if not len(self._good):
            raise RouteError(f"no route in {folder} can be driven: {self.broken[0]}")

    def __len__(self) -> int:
        return len(self._good)

    def take(self, index: Sequence[int] | NDArray[np.int64]) -> Routes:
        """The routes of these numbers, 0 to `len` - 1."""
        routes = self._good[np.asarray(index, np.int64)]
        starts, stops = self._offsets[routes], self._offsets[routes + 1]
        rows = [self._rows[start:stop] for start, stop in zip(starts, stops, strict=True)]
        return side_by_side([self._paths[i].name for i in routes], rows)


def route_paths(folder: Path) -> list[Path]:
    """The CSV files of a folder by name. Raises UsageError if there are none."""
    if not folder.is_dir():
        raise NotHereError(
            f"no folder of routes at {folder}; `operant tinyphysics download` gets them, and "
            "--routes names another folder"
        )
    paths = sorted(folder.glob("*.csv"))
    if not paths:
        raise UsageError(f"{folder} holds no routes: it has no .csv file")
    return paths


def _load_or_parse(
    folder: Path, paths: list[Path], progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    place = _user_cache(folder) / f"{PREFIX}{_digest(paths)}.npy"
    # A missing, short or damaged cache is made again; NumPy may raise anything on damaged bytes.
    with contextlib.suppress(Exception):
        return _split(np.load(place, mmap_mode="r"), len(paths))
    flat = _parse(paths, progress)
    with contextlib.suppress(OSError):  # read-only or full: the next start parses again
        _write(place, flat)
    return _split(flat, len(paths))


def _parse(paths: list[Path], progress: Progress) -> NDArray[np.float64]:
    routes = []
    for path in progress(paths, len(paths)):
        try:
            routes.append(read_route(path))
        except RouteError:
            routes.append(np.empty((0, len(FIELDS))))
    offsets = np.cumsum([0, *map(len, routes)], dtype=np.float64)
    return np.concatenate([offsets, *(rows.ravel() for rows in routes)])


def _split(
    flat: NDArray[np.float64], num_routes: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    offsets = flat[: num_routes + 1].astype(np.int64)
    if offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise ValueError("no offsets")
    return offsets, flat[num_routes + 1 :].reshape(offsets[-1], len(FIELDS))


def _write(path: Path, flat: NDArray[np.float64]) -> None:
    """Write a cache by renaming it into place, and remove the folder's old caches."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, by_several=True) as building, building.open("wb") as file:
        np.save(file, flat)
    for former in path.parent.glob(f"{PREFIX}*.npy"):
        if former != path:
            former.unlink(missing_ok=True)


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256(f"{FORMAT} {','.join(FIELDS)}".encode())
    for path in paths:
        size, time_ns = -1, 0  # a broken link, which cannot be read either
        with contextlib.suppress(OSError):
            status = path.stat()
            size, time_ns = status.st_size, status.st_mtime_ns
        digest.update(b"\n" + os.fsencode(path.name) + f" {size} {time_ns}".encode())
    return digest.hexdigest()[:16]


def _user_cache(folder: Path) -> Path:
    """The cache folder of a folder of routes."""
    place = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return platformdirs.user_cache_path("operant") / "tinyphysics" / place


def _reason(path: Path) -> str:
    try:
        read_route(path)
    except RouteError as error:
        return str(error)
    return f"{path}: was broken when it was parsed"
