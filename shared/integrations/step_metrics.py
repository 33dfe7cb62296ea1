"""Which metrics are drawn over another one than the run's step, see `define_metric`."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any


class StepMetrics:
    """Step metrics by name and by pattern `prefix/*`. An exact name has precedence over patterns,
    a longer pattern over a shorter one.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, str] = {}
        self._by_prefix: dict[str, str] = {}
        self._cache: dict[str, str] = {}  # the answers of `of`

    def define(self, name: str, step_metric: str) -> list[str]:
        """Draw `name` over `step_metric`; returns the logged names that this changes."""
        if name.endswith("*"):
            self._by_prefix[name[:-1]] = step_metric
        else:
            self._by_name[name] = step_metric
        before, self._cache = self._cache, {}
        return [known for known, old in before.items() if self.of(known) != old]

    def of(self, name: str) -> str:
        """The step metric of `name`; empty where `name` is drawn over the run's own step."""
        if name not in self._cache:
            self._cache[name] = self._look_up(name)
        return self._cache[name]

    def complete(self, row: MutableMapping[str, float], latest: Mapping[str, Any]) -> None:
        """Put the newest value of the step metrics into a row whose metrics need it."""
        if not self._by_name and not self._by_prefix:
            return
        for step_metric in {self._cache.get(name, "") for name in row} - {""}:
            value = latest.get(step_metric)
            if step_metric not in row and isinstance(value, int | float):
                row[step_metric] = float(value)

    def _look_up(self, name: str) -> str:
        if name in self._by_name:
            return self._by_name[name]
        if name in self._by_name.values() or name in self._by_prefix.values():
            return ""
        prefixes = [prefix for prefix in self._by_prefix if name.startswith(prefix)]
        return self._by_prefix[max(prefixes, key=len)] if prefixes else ""
