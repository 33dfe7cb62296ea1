"""Signs in a page that its process is at work."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .phase import PATIENT, Phase
from .reader import MetricsReader, Snapshot

STALLED_AFTER_INTERVALS = 8  # of those that the process promised
PATIENCE_S = 60.0  # in a phase of `PATIENT`, and before the first publish
# What the process has shown of its own pace: its newest publishes.
NUM_GAPS = 16
STALLED_AFTER_MEDIAN_GAPS = 4
STALLED_AFTER_LONGEST_GAPS = 2


def patience_with(gaps_s: Sequence[float]) -> float:
    """How long a loop may be silent whose newest publishes were so many seconds apart: a slow loop
    is no stalled one, nor is one that now and then does something long.
    """
    if not gaps_s:
        return 0.0
    return max(
        STALLED_AFTER_MEDIAN_GAPS * statistics.median(gaps_s),
        STALLED_AFTER_LONGEST_GAPS * max(gaps_s),
    )


@dataclass(frozen=True)
class LifeSigns:
    """`age_s` is since the last publish, `snapshot`; None before the first."""

    reader: MetricsReader
    snapshot: Snapshot | None
    age_s: float | None
    phase: Phase | None

    @property
    def silent_s(self) -> float | None:
        """Seconds since the newest sign of life, a publish or a beat; None before the first."""
        beat_s = self.reader.seconds_since(self.phase.beat_ns) if self.phase else None
        known = [seconds for seconds in (self.age_s, beat_s) if seconds is not None]
        return min(known, default=None)

    @property
    def promises_interval(self) -> bool:
        """Whether silence says anything: some loops publish when they like."""
        return self.reader.header.publish_interval_s > 0

    @property
    def is_late(self) -> bool:
        """Whether the silence is longer than what was promised, and longer than the loop's own pace
        makes likely.
        """
        silent_s = self.silent_s
        if silent_s is None or not self.promises_interval:
            return False
        is_patient = self.snapshot is None or (self.phase and self.phase.name in PATIENT)
        interval_s = self.reader.header.publish_interval_s
        if silent_s <= max(STALLED_AFTER_INTERVALS * interval_s, PATIENCE_S if is_patient else 0.0):
            return False
        if self.snapshot is None:
            return True
        return silent_s > patience_with(self.reader.gaps_s(self.snapshot, NUM_GAPS))

    def phase_fields(self) -> dict[str, Any]:
        """The phase as a `RunStatus` has it; empty where the process has not said."""
        if self.phase is None:
            return {}
        return {
            "phase": self.phase.name,
            "phase_s": self.reader.seconds_since(self.phase.since_ns),
            "phase_done": self.phase.done,
            "phase_total": self.phase.total,
            "phase_unit": self.phase.unit,
            "phase_left_s": self.reader.seconds_until(self.phase.end_ns) or None,
        }
