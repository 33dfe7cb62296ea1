"""The ranks of a run, where it has several."""

from __future__ import annotations

from collections.abc import Sequence

from ...shared.status import RunStatus
from ..look.lines import Line, boxed, line_width
from ..panels.rank_lines import draw_ranks, in_words
from .pane import Pane


class RanksPanel(Pane):
    """What each rank does, and which of them the others wait for."""

    def __init__(self) -> None:
        super().__init__(id="ranks")
        self._ranks: tuple[RunStatus, ...] = ()

    @property
    def has_ranks(self) -> bool:
        return bool(self._ranks)

    def show(self, ranks: Sequence[RunStatus]) -> None:
        if tuple(ranks) != self._ranks:
            self._ranks = tuple(ranks)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [(f"{len(self._ranks)} ranks", "text")]
        words = f"  {in_words(self._ranks)}"
        if words.strip() and line_width(title) + len(words) + 6 <= width:
            title.append((words, "dim"))
        body = draw_ranks(self._ranks, width - 4, height - 2)
        return boxed(title, body, width, height, self.border)
