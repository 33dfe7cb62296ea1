"""A step of a run: what is done before and after each of its iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..experiment.intervals import Due


class Step:
    """Takes part in the iterations of a run. A method that a step does not define does nothing."""

    def before(self, due: Due) -> None:
        """Called before an iteration is started, after which `due` is due."""

    @property
    def waits(self) -> bool:
        """Whether that iteration must be over before another one is started."""
        return False

    def after(self, row: dict[str, float], due: Due) -> None:
        """Called with the metrics of each finished iteration, to which a step may add. Nothing is
        `due` unless all iterations that were started have finished.
        """

    def end(self) -> None:
        """Called after the last iteration, unless an error ended training."""
