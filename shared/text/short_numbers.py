"""The short form of a number, on charts and in events."""

from __future__ import annotations

import math

PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def format_si(number: float, digits: int = 3) -> str:
    """`number` with `digits` significant digits and a prefix: 1.23M, 45.6k, 789, 0.12."""
    if not math.isfinite(number):
        return _format_unusual(number)
    if abs(number) < 1:
        return f"{number:.{digits - 1}f}" if number else "0"
    rounded = float(f"{number:.{digits - 1}e}")  # 999.6 is a thousand
    place = exponent_of(abs(rounded)) // 3
    if place < len(PREFIXES):
        decimals = max(0, digits - 1 - exponent_of(abs(rounded)) % 3)
        return f"{number / 1000.0**place:.{decimals}f}{PREFIXES[place]}"
    return f"{number:.{digits - 1}e}".replace("e+", "e")


def short_number(value: float) -> str:
    """The value of a metric with three or four significant digits, in at most ten characters:
    487.3, 0.01234, 0.00123, 1.20e-4.
    """
    if not math.isfinite(value):
        return _format_unusual(value)
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        return scientific(value, 2)
    if abs(value) >= 9_999.5:
        return format_si(value, 4)
    return f"{value:.{min(5, max(0, 3 - math.floor(math.log10(abs(value)))))}f}"


def exponent_of(step: float) -> int:
    """The power of ten in `step`, with a tolerance for rounding errors just below a power."""
    return 308 if math.isinf(step) else math.floor(math.log10(step) + 1e-9)


def scientific(value: float, decimals: int) -> str:
    """Scientific notation without zeros in the exponent: 1.20e-4."""
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{max(0, min(decimals, 5))}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _format_unusual(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "inf" if number > 0 else "-inf"
