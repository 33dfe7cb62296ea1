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

    def with_toggled(self, run: Item, is_reference: bool) -> Comparison[Item]:
        """Toggle the reference, or the mark of `run`."""
        return self.with_reference_toggled(run) if is_reference else self.with_mark_toggled(run)

    @property
    def chosen(self) -> tuple[Item, ...]:
        """The reference and those that are marked, each once."""
        first = [self.reference] if self.reference else []
        return tuple(dict.fromkeys([*first, *self.marked]))

    def beside(self, run: Item) -> list[Item]:
        """The other runs to draw when `run` is open, the reference first."""
        return self._others(run)[: MAX_RUNS - 1]

    def num_left_out(self, run: Item) -> int:
        """How many more were chosen than are drawn when `run` is open."""
        return max(0, len(self._others(run)) - (MAX_RUNS - 1))

    def _others(self, run: Item) -> list[Item]:
        return [other for other in self.chosen if other != run]
