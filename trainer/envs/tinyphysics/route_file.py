"""One logged route, read from the challenge's CSV format."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import UsageError
from ....shared.runs.small_file import open_regular
from .constants import CONTROL_START

COLUMNS = ("t", "vEgo", "aEgo", "roll", "targetLateralAcceleration", "steerCommand")
FIELDS = ("target", "roll_lataccel", "v_ego", "a_ego", "steer")
MIN_ROWS = CONTROL_START + 1
GRAVITY_M_PER_S2 = 9.81
_FIRST_LINE = 2  # of the file, below the names of the columns


class RouteError(UsageError):
    """A route cannot be driven: the text names the file, the line and the rule."""


def read_route(path: Path) -> NDArray[np.float64]:
    """The rows of a route [rows, 5], in the order of `FIELDS`. Raises RouteError.

    m/s^2, m/s, m/s^2 and steering in the simulator's sign: logs are left-positive, it is right.
    """
    import pandas

    try:
        with os.fdopen(open_regular(path), "rb") as file:
            table = pandas.read_csv(file, usecols=lambda name: name in COLUMNS)
    except OSError as error:
        raise RouteError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # pandas' own errors are ValueErrors too
        raise RouteError(f"{path}, line 1: {str(error).strip().splitlines()[0]}") from None
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise RouteError(f"{path}, line 1: no column {', '.join(missing)}")
    numeric = table[list(COLUMNS)].apply(pandas.to_numeric, errors="coerce")
    numbers = numeric.to_numpy(np.float64, copy=True)
    # Steering in the control window is never used, and logs may leave it out there.
    late = numbers[CONTROL_START:, COLUMNS.index("steerCommand")]
    late[np.isnan(late)] = 0.0
    _check(path, numbers)
    _, v_ego, a_ego, roll, target, steer = numbers.T
    return np.stack([target, np.sin(roll) * GRAVITY_M_PER_S2, v_ego, a_ego, -steer], 1)


def _check(path: Path, numbers: NDArray[np.float64]) -> None:
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, column = bad[0]
        raise RouteError(f"{path}, line {row + _FIRST_LINE}: {COLUMNS[column]} is not a number")
    if len(numbers) < MIN_ROWS:
        raise RouteError(
            f"{path}, line {len(numbers) + 1}: the route ends after {len(numbers)} rows, before "
            f"its control window; it needs at least {MIN_ROWS}"
        )
