"""Parses numbers that users type: 1e6, 10M, 1.5k, 1_000; and times: 90, 90s, 5m, 2h, 1d. Checks
numbers that a script passes as arguments.
"""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any

from ..errors import UsageError
from .plain_values import described

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_TYPED = re.compile(
    r"(?P<digits>[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?|[+-]?inf)(?P<unit>\D?)",
    re.IGNORECASE | re.ASCII,
)


def typed_number(text: str) -> float | None:
    """The number in `text`; None if it is not a number."""
    return _typed(text, _PREFIXES)


def typed_seconds(text: str) -> float | None:
    """The seconds in `text`, with or without a unit; None if it is not a time."""
    return _typed(text, _UNITS_S)


def _typed(text: str, units: dict[str, float]) -> float | None:
    match = _TYPED.fullmatch(text.strip())
    if match is None or match["unit"] not in units:
        return None
    try:
        number = float(match["digits"]) * units[match["unit"]]
    except ValueError:  # an underscore where Python allows none
        return None
    return None if math.isnan(number) else number


def whole_number(what: str, value: Any, least: int, most: int | None = None) -> int:
    """`value` as an int. Raises UsageError, which begins with `what`, unless it is a whole number
    in this range.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        limits = f"{least:,} to {most:,}" if most is not None else f"{least:,} or more"
        raise UsageError(f"{what} = {described(value)}: expected a whole number, {limits}")
    return int(value)


def real_number(what: str, value: Any, least: float = -math.inf) -> float:
    """`value` as a float. Raises UsageError, which begins with `what`, unless it is a number of at
    least `least`.
    """
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    except OverflowError:
        number = None
    if number is None or not number >= least:
        limits = f", {least:g} or more" if least > -math.inf else ""
        raise UsageError(f"{what} = {described(value)}: expected a number{limits}")
    return number
