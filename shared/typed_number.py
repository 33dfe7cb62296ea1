"""Numbers as people type them: 1000, 1_000, 1e3, 10M."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(r"([+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)([kKMGBT]?)")
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}


def typed_number(text: str) -> float | None:
    """The finite number that `text` is; None where it is none. A small m is no million: it would
    be a thousandth as well.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    try:
        number = float(match[1]) * _FACTORS[match[2]]
    except ValueError:  # 1__000
        return None
    return number if math.isfinite(number) else None
