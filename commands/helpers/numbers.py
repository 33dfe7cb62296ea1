"""Numbers that people give to options."""

from __future__ import annotations

import math
import re
from typing import Any

import click

from ...shared.errors import UsageError
from ...shared.text.typed_numbers import typed_number

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


class NumberRange(click.FloatRange):
    """Like click's FloatRange, but refuses NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


def parse_duration(option: str, text: str) -> float:
    """`30d`, `12h`, `1.5w` in seconds. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([smhdw])", text)
    if not match:
        raise UsageError(f"{option} {text} is not a duration; write 45m, 12h, 30d or 8w")
    return float(match[1]) * _UNITS_S[match[2]]


def parse_env_steps(option: str, text: str) -> float:
    """`100k`, `1e5`, `100_000`. Raises UsageError."""
    number = typed_number(text)
    if number is None or not 0 <= number < math.inf:
        raise UsageError(f"{option} {text}: expected env steps, as 100k, 1e5 or 100_000")
    return number
