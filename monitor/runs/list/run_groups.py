"""Runs that belong together: those that differ in their seed alone, or have a value in common."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ....shared.runs.run_folder import Run
from ....shared.runs.status import RunStatus
from ...charts.charted_metrics import RETURN, main_metric
from ..reading.conditions import condition_of
from .choices import Choice
from .group_statistics import Middle, Spread, middle_of
from .run_order import ordered, urgency
from .run_values import STAMP
from .runs_poller import RunRow

NAME = "name"  # by name and all of the configuration but the seed
SINGLE = ""  # no groups

_TAIL = re.compile(r"-[a-km-np-z2-9]{4}$")  # the letters against chance of a run's id
_SEED_IN_NAME = re.compile(r"(^|[-_.])(seed|s)[-_.]?\d+(?=$|[-_.])", re.IGNORECASE)
_MAX_DIFFERING = 3  # keys that a label names

GroupKey = tuple[object, ...]


@dataclass(frozen=True)
class RunGroup:
    """Some runs, newest first; `key` is what they have in common, `label` says it."""

    key: GroupKey
    label: str
    rows: tuple[RunRow, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(row.run for row in self.rows)

    @property
    def count_words(self) -> str:
        """`5 seeds` where each run has one of its own, else `5 runs`."""
        seeds = {
            str(value) for row in self.rows for key, value in row.config.items() if is_seed(key)
        }
        word = "seed" if len(seeds) == len(self.rows) else "run"
        return f"{len(self.rows)} {word}" + "s" * (len(self.rows) != 1)

    def states(self) -> list[tuple[str, str, int]]:
        """The states of its runs, see `states_of`."""
        return states_of([(row.status, row.is_page_expected) for row in self.rows if row.status])

    @property
    def main(self) -> str:
        """The main metric of the newest run that has one."""
        mains = (main_metric(row.status.metrics) for row in self.rows if row.status)
        return next(filter(None, mains), RETURN)

    def metric(self, name: str, spread: Spread) -> Middle | None:
        """The middle of the newest values of a metric; None if no run has written it."""
        values = [row.status.metrics.get(name, math.nan) for row in self.rows if row.status]
        return middle_of([value for value in values if math.isfinite(value)], spread)

    def summary(self, metrics: Iterable[str] = (RETURN,)) -> RunRow:
        """A run in place of them all, for the order of the list: the means of these metrics, the
        state that needs attention most, and what of the configuration is the same in all.
        """
        read = [row for row in self.rows if row.status]
        if not read:
            return self.rows[0]
        worst = ordered(read, "state", False)[0]
        assert worst.status
        means = {name: middle.value for name in metrics if (middle := self.metric(name, "range"))}
        steps = [row.status.env_steps for row in read if row.status and row.status.env_steps]
        ages = [row.status.age_s for row in read if row.status and row.status.age_s is not None]
        status = replace(
            worst.status,
            metrics=means,
            env_steps=max(steps, default=None),
            age_s=min(ages, default=None),
        )
        return replace(worst, status=status, config=_same(row.config for row in self.rows))


def states_of(statuses: Iterable[tuple[RunStatus, bool]]) -> list[tuple[str, str, int]]:
    """Symbol, style and number of the runs in each state, what needs attention first; `True` is for
    runs whose page is expected.
    """
    counts: dict[tuple[str, str], int] = {}
    conditions = [condition_of(*status) for status in statuses]
    for condition in sorted(conditions, key=lambda condition: urgency(condition.word)):
        look = condition.symbol, condition.style
        counts[look] = counts.get(look, 0) + 1
    return [(*look, count) for look, count in counts.items()]


def is_seed(key: str) -> bool:
    """Whether a key of a configuration is a seed."""
    return key == "seed" or key.endswith(".seed")


def plain_name(row: RunRow) -> str:
    """The name of a run without its seed: the name that people gave it later, else its id
    without the moment and the letters against chance. A number at its end is the seed where the
    configuration says so, but in a sweep, where it is the trial's.
    """
    name = row.notes.name or _TAIL.sub("", STAMP.sub("", row.name))
    keys = () if "trial" in row.config else filter(is_seed, row.config)
    seeds = "|".join(re.escape(str(row.config[key])) for key in keys)
    plain = re.sub(rf"[-_.](?:{seeds})$", "", name) if seeds else name
    return _SEED_IN_NAME.sub("", plain).strip("-_.") or name


class RunGrouper:
    """Sorts runs into groups; what a run belongs to is worked out once."""

    def __init__(self) -> None:
        self._known: dict[Run, tuple[Mapping[str, object], str, GroupKey]] = {}

    def groups(self, rows: Sequence[RunRow], by: str) -> list[RunGroup]:
        """By `NAME` or a key of the configuration, in the order of their first runs."""
        found: dict[GroupKey, list[RunRow]] = {}
        for row in rows:
            key = self._identity(row) if by == NAME else (by, _text(row.config.get(by)))
            found.setdefault(key, []).append(row)
        labels = _labels_by_name(found) if by == NAME else {key: _label(key) for key in found}
        return [RunGroup(key, labels[key], tuple(rows)) for key, rows in found.items()]

    def _identity(self, row: RunRow) -> GroupKey:
        config, name, identity = self._known.get(row.run, (None, "", ()))
        if config is not row.config or name != row.name:
            # One string: thousands of small tuples take longer to make, to hash and to collect.
            values = repr([(k, row.config[k]) for k in sorted(row.config) if not is_seed(k)])
            identity = (NAME, plain_name(row), values)
            self._known[row.run] = row.config, row.name, identity
        return identity


def group_choices(rows: Sequence[RunRow], by: str) -> list[Choice]:
    """All that the list can be grouped by: first by name, or single runs again; keys whose values
    differ before those that all runs share.
    """
    values: dict[str, set[str]] = {}
    for row in rows:
        for key, value in row.config.items():
            values.setdefault(key, set()).add(_text(value))
    keys = [Choice(key, key, f"{len(values[key])} values" if len(values[key]) > 1 else "1 value")
            for key in sorted(values, key=lambda key: (len(values[key]) < 2, key))]  # fmt: skip
    name = Choice(NAME, "name", "all but the seed is the same")
    single = Choice(SINGLE, "single runs", "no groups")
    return [name, single, *keys] if by == SINGLE else [single, name, *keys]


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _label(key: GroupKey) -> str:
    name, value = str(key[0]), str(key[1])
    return f"{name}={value}" if value else f"no {name}"


def _labels_by_name(found: Mapping[GroupKey, Sequence[RunRow]]) -> dict[GroupKey, str]:
    """The name; where several groups share it, with the values in which they differ."""
    by_name: dict[object, list[GroupKey]] = {}
    for key in found:
        by_name.setdefault(key[1], []).append(key)
    labels: dict[GroupKey, str] = {}
    for name, keys in by_name.items():
        configs = [found[key][0].config for key in keys]
        differing = _differing(configs) if len(keys) > 1 else []
        for key, config in zip(keys, configs, strict=True):
            parts = [f"{k.rpartition('.')[2]}={_text(config.get(k)) or '-'}" for k in differing]
            more = ["…"] if len(parts) > _MAX_DIFFERING else []
            labels[key] = " ".join([str(name), *parts[:_MAX_DIFFERING], *more])
    return labels


def _differing(configs: Sequence[Mapping[str, object]]) -> list[str]:
    keys = dict.fromkeys(key for config in configs for key in config if not is_seed(key))
    return [key for key in keys if len({repr(config.get(key)) for config in configs}) > 1]


def _same(configs: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """The keys and values that all have in common."""
    first, *others = configs
    return {k: v for k, v in first.items() if all(k in c and c[k] == v for c in others)}
