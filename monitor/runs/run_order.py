"""The order of the list of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...shared.status import RunStatus
from .conditions import condition_of
from .run_summary import RETURN
from .runs_poller import RunRow

_STATES = ("failed", "crashed", "stalled", "running", "starting", "resuming", "stopped", "finished")


def _number(of: Callable[[RunStatus], float | None]) -> Callable[[RunRow], float]:
    """Highest first; runs without the number last."""

    def key(row: RunRow) -> float:
        value = of(row.status) if row.status else None
        return math.inf if value is None or math.isnan(value) else -value

    return key


def _state(row: RunRow) -> int:
    """What needs attention first."""
    if row.status is None:
        return len(_STATES)
    return _STATES.index(condition_of(row.status, row.is_page_expected).word)


# The columns by which the list can be sorted, best or newest first; the first is how it comes.
ORDERS: dict[str, Callable[[RunRow], object]] = {
    "newest": lambda row: 0,
    "state": _state,
    "age": lambda row: -_number(lambda status: status.age_s)(row),
    "steps/s": _number(lambda status: status.env_steps_per_s),
    "return": _number(lambda status: status.metrics.get(RETURN)),
    "steps": _number(lambda status: status.env_steps),
    "done": _number(lambda status: status.progress_fraction),
    "device": lambda row: row.device,
    "run": lambda row: row.run.id[16:],
}


def ordered(rows: Sequence[RunRow], order: str, is_reversed: bool) -> list[RunRow]:
    """`rows`, which come newest first, by one of `ORDERS`; ties stay as they came."""
    if order == "newest":
        return list(reversed(rows)) if is_reversed else list(rows)
    return sorted(rows, key=ORDERS[order], reverse=is_reversed)  # type: ignore[arg-type]


def next_order(order: str) -> str:
    names = list(ORDERS)
    return names[(names.index(order) + 1) % len(names)]
