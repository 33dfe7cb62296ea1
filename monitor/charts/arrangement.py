"""How people want the charts of a project to stand: which first, which not, how many in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Arrangement:
    """`pinned` and `hidden` are names of metrics, the pinned in the order of their charts, and
    `collapsed` names of groups; without `columns` there are as many as fit. `shows_hidden` lasts
    as long as the screen.
    """

    pinned: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    collapsed: tuple[str, ...] = ()
    columns: int = 0
    shows_hidden: bool = False

    def with_pin_toggled(self, name: str) -> Arrangement:
        """The chart of metric `name` the last of those in front, or back among the others."""
        hidden = tuple(other for other in self.hidden if other != name)
        return replace(self, pinned=_toggled(self.pinned, name), hidden=hidden)

    def with_hiding_toggled(self, name: str) -> Arrangement:
        pinned = tuple(other for other in self.pinned if other != name)
        return replace(self, hidden=_toggled(self.hidden, name), pinned=pinned)

    def with_collapse_toggled(self, group: str) -> Arrangement:
        return replace(self, collapsed=_toggled(self.collapsed, group))

    def reset(self) -> Arrangement:
        """All charts and groups to be seen, as many beside each other as fit; pins stay."""
        return Arrangement(self.pinned)

    def kept(self) -> Arrangement:
        """The arrangement to save."""
        return replace(self, shows_hidden=False)


def _toggled(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    if name in names:
        return tuple(other for other in names if other != name)
    return (*names, name)
