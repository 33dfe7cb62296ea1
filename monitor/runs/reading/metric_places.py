"""Where the values of a metric lie, by its name."""

from __future__ import annotations

import numpy as np

from ....shared.page.history import Integers


class MetricPlaces:
    """A number for each metric by its name, in the order in which they came."""

    def __init__(self) -> None:
        self._by_name: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def of(self, name: str) -> int:
        """That of a metric, new or known."""
        return self._by_name.setdefault(name, len(self._by_name))

    def by_name(self) -> dict[str, int]:
        return dict(self._by_name)

    def of_all(self, names: list[str]) -> Integers:
        return np.array([self.of(name) for name in names], np.int64)
