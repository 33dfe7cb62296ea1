"""How busy the GPU of a run is while it trains."""

from __future__ import annotations

from collections import deque

from ....shared.runs.status import RunStatus
from .machine import MachineSample

NUM_SAMPLES = 15  # half a minute, as long as the speed is measured over
_TRAINING = ("collecting", "learning")


class GpuLoad:
    """The mean of the newest samples that were taken in training: neither compiling, evaluating nor
    saving keeps a GPU busy, and none of them should.
    """

    def __init__(self) -> None:
        self._shares: deque[float] = deque(maxlen=NUM_SAMPLES)
        self._was_training = False

    def add(self, sample: MachineSample | None, status: RunStatus) -> None:
        """A sample, taken when the run was seen to be at `status`."""
        is_training = status.state == "running" and status.phase in _TRAINING
        # NVML looks back up to a second: the first sample after a pause tells of the pause.
        if is_training and self._was_training and sample:
            shares = [gpu.utilization_fraction for gpu in sample.gpus]
            known = [share for share in shares if share is not None]
            if known:  # a process may hold others open; it trains on the busiest
                self._shares.append(max(known))
        self._was_training = is_training

    @property
    def busy(self) -> float | None:
        """0 to 1; None until there are enough samples."""
        if len(self._shares) < NUM_SAMPLES:
            return None
        return sum(self._shares) / NUM_SAMPLES
