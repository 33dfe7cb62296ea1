"""What the machine does for a run."""

from __future__ import annotations

from collections import deque

from ..look.lines import Line, boxed
from ..panels.machine_lines import draw_machine
from ..runs.machine import MachineSample
from .pane import Pane

NUM_SAMPLES = 240


class MachinePanel(Pane):
    """CPU, memory and GPU of the trainer, sampled while somebody watches."""

    def __init__(self) -> None:
        super().__init__(id="machine")
        self._samples: deque[MachineSample] = deque(maxlen=NUM_SAMPLES)

    @property
    def has_samples(self) -> bool:
        return bool(self._samples)

    def show(self, sample: MachineSample | None) -> None:
        """Add a sample; None, once the process has gone, leaves what there is."""
        if sample:
            self._samples.append(sample)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [("machine", "text")]
        gpus = self._samples[-1].gpus if self._samples else ()
        if gpus and width > 30:
            title.append((f"  {gpus[0].name}", "dim"))
        body = draw_machine(self._samples, width - 4, height - 2)
        return boxed(title, body, width, height, self.border)
