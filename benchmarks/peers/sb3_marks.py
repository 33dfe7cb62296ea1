"""When Stable-Baselines3 finished each iteration."""

from __future__ import annotations

import time
from typing import Any


def sb3_marks() -> tuple[list[tuple[float, int]], Any]:
    """Clock and env steps at the end of every iteration, and the callback that notes them."""
    from stable_baselines3.common.callbacks import BaseCallback

    marks: list[tuple[float, int]] = []

    class Marks(BaseCallback):  # type: ignore[misc]
        def _on_rollout_start(self) -> None:
            if self.num_timesteps:
                marks.append((time.perf_counter(), self.num_timesteps))

        def _on_step(self) -> bool:
            return True

        def _on_training_end(self) -> None:
            marks.append((time.perf_counter(), self.num_timesteps))

    return marks, Marks()
