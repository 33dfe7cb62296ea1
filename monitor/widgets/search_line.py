"""A line to search a pane."""

from __future__ import annotations

from typing import Protocol

from .filter_line import FilterLine


class Searched(Protocol):
    """A pane that leaves out what does not fit its words."""

    words: tuple[str, ...]

    @property
    def problem(self) -> str:
        """The error in the words; empty if they are valid."""

    def focus(self) -> object: ...


class SearchLine(FilterLine):
    """A filter line whose words are those of the pane it was opened for, as they are typed."""

    def search(self, pane: Searched) -> None:
        self._pane = pane
        self.open(" ".join(pane.words))

    def on_filter_line_changed(self, message: FilterLine.Changed) -> None:
        message.stop()
        self._pane.words = tuple(message.text.split())
        self.complain(self._pane.problem)
        if message.is_done and not self._pane.problem:
            self.close()
            self._pane.focus()
