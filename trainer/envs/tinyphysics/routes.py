"""Routes as one array, the input of the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .route_file import FIELDS


@dataclass(frozen=True)
class Routes:
    """N routes; `rows` [N, T, 5] float64 in the order of `FIELDS`, `num_rows` [N] their lengths.

    A route shorter than T goes on with its last row.
    """

    names: tuple[str, ...]
    rows: NDArray[np.float64]
    num_rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.names)

    def field(self, name: str) -> NDArray[np.float64]:
        """One field [T, N], a view."""
        return self.rows[:, :, FIELDS.index(name)].T

    def at(self, index: Sequence[int] | NDArray[np.int64]) -> Routes:
        """Some of the routes, in the order of `index`; a route may come more than once."""
        index = np.asarray(index, np.int64)
        num_rows = self.num_rows[index]
        names = tuple(self.names[i] for i in index)
        return Routes(names, self.rows[index, : num_rows.max()], num_rows)


def side_by_side(names: Sequence[str], routes: Sequence[NDArray[np.float64]]) -> Routes:
    """Routes with rows [T_i, 5], padded to the longest."""
    num_rows = np.array([len(rows) for rows in routes], np.int64)
    longest = int(num_rows.max())
    if (num_rows == longest).all():
        return Routes(tuple(names), np.stack(routes), num_rows)
    padded = np.empty((len(routes), longest, len(FIELDS)))
    for out, rows in zip(padded, routes, strict=True):
        out[: len(rows)] = rows
        out[len(rows) :] = rows[-1]
    return Routes(tuple(names), padded, num_rows)


def chunks(routes: Routes, size: int) -> Iterator[Routes]:
    """The routes in order, at most `size` at a time."""
    for start in range(0, len(routes), size):
        yield routes.at(np.arange(start, min(start + size, len(routes))))
