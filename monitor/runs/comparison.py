"""The runs, or groups of them, that people chose to see together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

MAX_RUNS = 8

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Comparison(Generic[Item]):
    """`marked` runs are drawn on the charts of the one that is open; the `reference` as well, with
    the differences to it.
    """

    marked: tuple[Item, ...] = ()
    reference: Item | None = None

    def with_mark_toggled(self, run: Item) -> Comparison[Item]:
        if run in self.marked:
            return replace(self, marked=tuple(other for other in self.marked if other != run))
        return replace(self, marked=(*self.marked, run))

    def with_reference_toggled(self, run: Item) -> Comparison[Item]:
        return replace(self, reference=None if self.reference == run else run)

    def beside(self, run: Item) -> list[Item]:
        """The other runs to draw when `run` is open, the reference first."""
        chosen = [self.reference] if self.reference else []
        others = dict.fromkeys([*chosen, *self.marked])
        return [other for other in others if other != run][: MAX_RUNS - 1]
