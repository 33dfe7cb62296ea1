"""One look at a run: all that its screen shows, from one moment, never changed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..shared import Event, History, Metric
from ..shared.history import Integers
from ..shared.status import RunStatus

_RECENT = 32  # rows over which a speed is taken that the run does not tell itself


@dataclass(frozen=True, eq=False)  # arrays do not compare as one truth
class RunView:
    """`publish` counts the publishes behind the history; 0 before the first. `is_page_expected`
    tells a page that cannot be read from one that is not there yet; `num_rejected` counts metrics
    that found no room in it; `log` is the end of what the process printed.
    """

    status: RunStatus
    history: History = field(default_factory=History)
    schema: tuple[Metric, ...] = ()
    events: tuple[Event, ...] = ()
    publish: int = 0
    is_page_expected: bool = True
    num_rejected: int = 0
    log: tuple[str, ...] = ()

    @property
    def elapsed_s(self) -> float | None:
        """Seconds of training up to the last publish."""
        return float(self.history.elapsed_s[-1]) if len(self.history) else None

    def publishes_per_s(self) -> float | None:
        """From the history's newest rows."""
        return self._per_s(self.history.publish)

    def env_steps_per_s(self) -> float | None:
        """As the run says itself; else from the history's newest rows."""
        said = self.status.env_steps_per_s
        if said is not None and said == said:
            return said
        return None if self.status.env_steps is None else self._per_s(self.history.env_steps)

    def _per_s(self, counts: Integers) -> float | None:
        if len(counts) < 2:
            return None
        rows = slice(-_RECENT, None)
        counts, seconds = counts[rows], self.history.elapsed_s[rows]
        return float(counts[-1] - counts[0]) / max(float(seconds[-1] - seconds[0]), 1e-9)
