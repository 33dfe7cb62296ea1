"""The order of the list of runs: by a column, by a metric, or by a value of the configuration."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ....shared.errors import UsageError, nearest
from ...charts.charted_metrics import RETURN
from ...render.formatting import UNKNOWN, format_value
from ..reading.conditions import condition_of
from .choices import Choice
from .run_values import NUMBERS, Known, metric_of
from .runs_poller import RunRow

METRIC, CONFIG = "metric:", "config:"  # before the name of what is no column
_STATES = (
    "failed", "crashed", "stalled", "running", "starting", "resuming", "stopped", "ended",
    "finished",
)  # fmt: skip

Place = tuple[int, Any] | None  # in the order; None for runs without, which come last
Rows = TypeVar("Rows")


def _number(name: str) -> Callable[[RunRow], Place]:
    """Highest first."""

    def place(row: RunRow) -> Place:
        value = NUMBERS[name](row)
        return None if value is None or math.isnan(value) else (0, -value)

    return place


def _state(row: RunRow) -> Place:
    """Runs that need attention come first."""
    if row.status is None:
        return None
    return 0, urgency(condition_of(row.status, row.is_page_expected).word)


def _age(row: RunRow) -> Place:
    place = _number("age")(row)
    return place and (0, -place[1])


def urgency(word: str) -> int:
    """The place of a state, by its word, among those that need attention; 0 is the most urgent."""
    return _STATES.index(word if word in _STATES else "running")


# The columns by which the list can be sorted, best or newest first; the first is how it comes.
ORDERS: dict[str, Callable[[RunRow], Place]] = {
    "newest": lambda row: (0, 0),
    "state": _state,
    "age": _age,
    "steps/s": _number("speed"),
    "return": _number("return"),
    "steps": _number("steps"),
    "done": _number("done"),
    "device": lambda row: (0, row.device),
    "run": lambda row: (0, row.name[16:]),
    "machine": lambda row: (int(bool(row.host)), row.host),
}


def is_order(text: str) -> bool:
    """Whether the list can be sorted by it; of metrics and values, whoever has them."""
    return text in ORDERS or (text.startswith((METRIC, CONFIG)) and not text.endswith(":"))


def named_order(wanted: str, known: Known) -> str:
    """The order by what people call it: a column, a setting or a metric. The last part of a name is
    enough where no other has it; a setting comes before a metric. Raises UsageError.
    """
    if wanted in ORDERS:
        return wanted
    keys, metrics = known.config_keys(wanted), known.metric_names(wanted)
    names = keys or metrics
    if len(names) != 1:
        near = nearest(wanted, ORDERS) or known.near(wanted)
        others = f"write one of {', '.join(names)}" if names else f"no run has it{near}"
        raise UsageError(f"--sort {wanted}: {others}")
    return (CONFIG if keys else METRIC) + names[0]


def shown_value(order: str) -> str:
    """The name of what the list is sorted by, where it has no column of its own; else nothing."""
    return "" if order in ORDERS else order.partition(":")[2]


def value_text(row: RunRow, order: str) -> str:
    """The value of a run for the name that `shown_value` gives."""
    name = shown_value(order)
    if order.startswith(METRIC):
        number = metric_of(row, [name])
        return UNKNOWN if number is None else format_value(number)
    value = row.config.get(name)
    if isinstance(value, float):
        return format_value(value)
    return UNKNOWN if value is None else str(value)


def ordered(
    rows: Sequence[Rows],
    order: str,
    is_reversed: bool,
    row_of: Callable[[Rows], RunRow] = lambda row: row,  # type: ignore[assignment, return-value]
) -> list[Rows]:
    """`rows`, which come newest first, by what `is_order`; ties stay as they came, and those that
    have nothing of it come last either way. `row_of` gives the run that stands for a row.
    """
    if order == "newest":
        return list(reversed(rows)) if is_reversed else list(rows)
    place_of = _place_of(order)
    placed = [(place_of(row_of(row)), row) for row in rows]
    known = [(place, row) for place, row in placed if place is not None]
    known.sort(key=lambda pair: pair[0], reverse=is_reversed)
    return [row for _, row in known] + [row for place, row in placed if place is None]


def next_order(order: str) -> str:
    """The column after that of `order`; the first after what is no column."""
    names = list(ORDERS)
    return names[(names.index(order) + 1) % len(names)] if order in names else names[0]


def order_choices(known: Known, order: str) -> list[Choice]:
    """All that the list can be sorted by, the next column first."""
    first = next_order(order)
    names = [first, *(name for name in ORDERS if name != first)]
    return [
        *(Choice(name, name, "column") for name in names),
        *(Choice(f"{METRIC}{name}", name, "metric") for name in known.metrics if name != RETURN),
        *(Choice(f"{CONFIG}{name}", name, "configuration") for name in known.config),
    ]


def _place_of(order: str) -> Callable[[RunRow], Place]:
    if order in ORDERS:
        return ORDERS[order]
    name = shown_value(order)
    if order.startswith(METRIC):

        def of_metric(row: RunRow) -> Place:
            value = metric_of(row, [name])
            return None if value is None else (0, -value)

        return of_metric

    def of_config(row: RunRow) -> Place:
        """Numbers before words."""
        value = row.config.get(name)
        if isinstance(value, int | float) and not math.isnan(value):
            return 0, -value
        return None if value is None else (1, str(value))

    return of_config
