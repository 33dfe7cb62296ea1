"""What a page shows of its process's being at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .phase import PATIENT, Phase
from .reader import MetricsReader

STALLED_AFTER_INTERVALS = 8
PATIENCE_S = 60.0  # in a phase of `PATIENT`


@dataclass(frozen=True)
class LifeSigns:
    """`age_s` is since the last publish, None before the first."""

    reader: MetricsReader
    age_s: float | None
    phase: Phase | None

    @property
    def silent_s(self) -> float | None:
        """Seconds since the newest sign of life, a publish or a beat; None before the first."""
        beat_s = self.reader.seconds_since(self.phase.beat_ns) if self.phase else None
        known = [seconds for seconds in (self.age_s, beat_s) if seconds is not None]
        return min(known, default=None)

    @property
    def patience_s(self) -> float | None:
        """How long a silence is no stall; None where nothing is known of that."""
        interval_s = self.reader.header.publish_interval_s
        if interval_s <= 0:
            return None
        is_patient = self.phase is not None and self.phase.name in PATIENT
        return max(STALLED_AFTER_INTERVALS * interval_s, PATIENCE_S if is_patient else 0.0)

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
        }
