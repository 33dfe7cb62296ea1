"""Warnings for runs that learn nothing, or little, because updates are skipped."""

from __future__ import annotations

from collections.abc import Mapping

from ...shared.errors import OperantError

NUM_UPDATES, NUM_SKIPPED = "updates/count", "updates/skipped"


class NothingLearnedError(OperantError):
    """No update moved anything at the end of a run."""


class SkippedUpdates:
    """Counts the updates of each iteration, and those of them that were skipped."""

    def __init__(
        self, updates_per_iteration: int, num_updates: float = 0, num_skipped: float = 0
    ) -> None:
        """`updates_per_iteration` is for algorithms that publish no number of updates; the other
        two are the metrics' values before the first iteration.
        """
        self._per_iteration = updates_per_iteration
        self._before = num_updates, num_skipped
        self.num_updates = self.num_skipped = self.num_iterations = 0
        self._moved_in = 0  # of those iterations, the last with an update that was not skipped
        self._made_since = 0
        self._has_warned = False

    def warning(self, values: Mapping[str, float], iteration: int) -> str:
        """The warning after `iteration`, whose metrics are `values`; empty except for the first
        iteration whose updates were all skipped.
        """
        if NUM_SKIPPED not in values:
            return ""
        num_updates, num_skipped = self._before
        now = values.get(NUM_UPDATES, num_updates + self._per_iteration), values[NUM_SKIPPED]
        made, skipped = int(now[0] - num_updates), int(now[1] - num_skipped)
        self._before = now
        self.num_updates += made
        self.num_skipped += skipped
        self.num_iterations += 1
        self._made_since += made
        if skipped < made:
            self._moved_in, self._made_since = self.num_iterations, 0
        if self._has_warned or not 0 < made <= skipped:
            return ""
        self._has_warned = True
        return f"iteration {iteration} learned nothing: {made} of its {made} updates were skipped"

    def last_warning(self) -> str:
        """The warning at the end of training; empty unless most updates were skipped."""
        if 2 * self.num_skipped <= self.num_updates:
            return ""
        return (
            f"{self.num_skipped} of the {self.num_updates} updates of these {self.num_iterations} "
            "iterations were skipped, so little was learned: look for NaN and infinity in "
            "observations and rewards"
        )

    def check_end(self) -> None:
        """Raises NothingLearnedError where the last tenth of the iterations made updates and
        skipped all of them.
        """
        num_still = self.num_iterations - self._moved_in
        if self._made_since and 10 * num_still >= self.num_iterations:
            raise NothingLearnedError(
                f"nothing was learned in the last {num_still} of {self.num_iterations} iterations: "
                f"all {self._made_since} updates were skipped; look for NaN, infinity and very "
                "large numbers in observations and rewards"
            )
