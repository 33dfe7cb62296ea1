"""The values of a run that filters and orders use: state, numbers, configuration, metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ....shared.errors import nearest
from ....shared.text.typed_numbers import typed_number, typed_seconds
from ...charts.charted_metrics import RETURN
from ..reading.conditions import condition_of
from .runs_poller import HERE, RunRow

STAMP = re.compile(r"^\d{8}-\d{6}-(?=.)")  # of the moment, in a run's id

WORDS: dict[str, Callable[[RunRow], str]] = {
    "state": lambda row: condition_of(row.status, row.is_page_expected).word if row.status else "",
    "device": lambda row: row.device,
    "name": lambda row: f"{row.notes.name} {row.run.id} {row.given_name}",
    "note": lambda row: row.notes.note,
    "tag": lambda row: " ".join(row.notes.tags),
    "archived": lambda row: "yes" if row.notes.is_archived else "no",
    "machine": lambda row: row.host or HERE,
}
NUMBERS: dict[str, Callable[[RunRow], float | None]] = {
    "return": lambda row: row.status.metrics.get(RETURN) if row.status else None,
    "speed": lambda row: row.status.env_steps_per_s if row.status else None,
    "steps": lambda row: row.status.env_steps if row.status else None,
    "age": lambda row: row.status.age_s if row.status else None,
    "done": lambda row: (
        None
        if row.status is None or row.status.progress_fraction is None
        else 100 * row.status.progress_fraction
    ),
}
# How numbers under a name are typed where it is not as others are.
TYPED: dict[str, Callable[[str], float | None]] = {
    "age": typed_seconds,
    "done": lambda text: typed_number(text.removesuffix("%")),
}


@dataclass(frozen=True)
class Known:
    """The names that any of some runs has: keys of configurations, and metrics."""

    config: tuple[str, ...]
    metrics: tuple[str, ...]

    def config_keys(self, wanted: str) -> list[str]:
        """The keys that `wanted` names: the key of that name, else all keys that end with it, as
        `learning_rate` for `ppo.learning_rate`.
        """
        return _named(wanted, self.config, ".")

    def metric_names(self, wanted: str) -> list[str]:
        """The metrics that `wanted` names, also by their last part: `value` for `loss/value`."""
        return _named(wanted, self.metrics, "/")

    def near(self, wanted: str) -> str:
        """A question whether another name was meant, where one is near."""
        ends = (name.rpartition(mark)[2] for names, mark in
                ((self.config, "."), (self.metrics, "/")) for name in names)  # fmt: skip
        return nearest(
            wanted, dict.fromkeys([*WORDS, *NUMBERS, *self.config, *self.metrics, *ends])
        )


def known_names(rows: Iterable[RunRow]) -> Known:
    """The names in all `rows`, each once, in alphabetical order."""
    config: set[str] = set()
    metrics: set[str] = set()
    for row in rows:
        config.update(row.config)
        if row.status:
            metrics.update(row.status.metrics)
    return Known(tuple(sorted(config)), tuple(sorted(metrics)))


def metric_of(row: RunRow, names: Sequence[str]) -> float | None:
    """The newest value of the first of these metrics that the run has written."""
    for name in names if row.status else ():
        assert row.status
        value = row.status.metrics.get(name)
        if value is not None and not math.isnan(value):
            return value
    return None


def _named(wanted: str, names: Sequence[str], mark: str) -> list[str]:
    if wanted in names:
        return [wanted]
    return [name for name in names if name.endswith(f"{mark}{wanted}")]
