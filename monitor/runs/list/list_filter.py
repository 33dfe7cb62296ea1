"""The filter of the list as it is typed: some of it is understood, and some not yet."""

from __future__ import annotations

from collections.abc import Sequence

from .filter_terms import Filter, FilterError, parse_filter
from .run_filter import filtered, listed
from .runs_poller import RunRow


class ListFilter:
    """Its text, and the last of it that was understood, by which the list stays meanwhile."""

    def __init__(self) -> None:
        self.text = ""
        self._understood: Filter = ((),)

    def found(self, rows: Sequence[RunRow]) -> tuple[list[RunRow], str]:
        """The runs that it leaves, and what is wrong with it: then those that the last one left
        which was understood.
        """
        try:
            wanted = parse_filter(self.text)
            found = filtered(rows, wanted)
        except FilterError as error:
            try:
                return filtered(rows, self._understood), str(error)
            except FilterError:  # the runs that had what it asks for are gone
                return listed(rows), str(error)
        self._understood = wanted
        return found, ""

    def listed(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """Those among which it finds some: archived ones where it asks for them."""
        return listed(rows, self._understood)
