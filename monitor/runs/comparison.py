"""The runs that people chose to see together."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...shared.run_folder import Run

MAX_RUNS = 8


@dataclass(frozen=True)
class Comparison:
    """`marked` runs are drawn on the charts of the one that is open; the `reference` as well, with
    the differences to it.
    """

    marked: tuple[Run, ...] = ()
    reference: Run | None = None

    def with_mark_toggled(self, run: Run) -> Comparison:
        if run in self.marked:
            return replace(self, marked=tuple(other for other in self.marked if other != run))
        return replace(self, marked=(*self.marked, run))

    def with_reference_toggled(self, run: Run) -> Comparison:
        return replace(self, reference=None if self.reference == run else run)

    def beside(self, run: Run) -> list[Run]:
        """The other runs to draw when `run` is open, the reference first."""
        chosen = [self.reference] if self.reference else []
        others = dict.fromkeys([*chosen, *self.marked])
        return [other for other in others if other != run][: MAX_RUNS - 1]
