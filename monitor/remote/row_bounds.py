"""What a run in the list of another machine may take: one side sends no more, the other keeps no
more, since anyone may have written what it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping

MAX_METRICS, MAX_KEYS, MAX_RETURNS = 256, 512, 128
NAME_CHARACTERS = 208  # of a metric: a page has no longer ones
VALUE_CHARACTERS = 200  # of a configuration, and of its keys
MAX_ROWS = 1 << 14  # of a machine; what is more is left out
MAX_LIST_BYTES = 1 << 28  # of all rows of a machine, about; likewise
_BYTES_A_VALUE = 150  # of memory, beside its characters


def plain_value(value: object) -> bool | int | float | str:
    """A value of a configuration as it is sent and kept; whole numbers beyond 64 bits are text."""
    if isinstance(value, (bool, float)):
        return value
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return value
    try:
        return str(value)[:VALUE_CHARACTERS]
    except ValueError:  # a whole number of thousands of digits
        return "..."


def bytes_of(*tables: Mapping[str, object]) -> int:
    """What their keys and values take in memory, about."""
    return sum(
        _BYTES_A_VALUE + len(key) + (len(value) if isinstance(value, str) else 0)
        for table in tables
        for key, value in table.items()
    )
