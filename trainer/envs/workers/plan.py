"""How many workers a configuration means, and in how many groups."""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"  # where a number may be: measured


@dataclass(frozen=True)
class WorkerPlan:
    """W workers in k groups; with 0 workers all is stepped here. Of W a worker's environments are
    an equal share.
    """

    num_workers: int = 0
    async_factor: int = 1
    timeout_s: float = 120.0


SERIAL = WorkerPlan()
