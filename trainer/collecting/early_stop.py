"""A rollout that ends early because other ranks wait for it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..distributed.stragglers import LEAST_FRACTION, Stragglers
from .collector import Collector


class EarlyStopCollector(Collector):
    """Stops once `stragglers` say that enough ranks are done. The steps that lack are dead: they
    count nowhere. Episodes under way go on in the next rollout, and are learned from as if a time
    limit had cut them, with the value of what they had come to.
    """

    may_be_cut = True

    def __init__(self, *arguments: Any, stragglers: Stragglers, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._stragglers = stragglers
        self._least_steps = math.ceil(LEAST_FRACTION * len(self.rollout.rewards))

    def _begin(self) -> Tensor:
        self._stragglers.begin()
        if self.rollout.valid is not None and not self.envs.has_dead_steps:
            self.rollout.valid.fill_(True)
        return super()._begin()

    def _is_cut_after(self, steps: int) -> bool:
        if steps < self._least_steps or not self._stragglers.enough_are_done:
            return False
        if steps < len(self.rollout.rewards):
            self._cut(steps)
        return True

    def _finish(self) -> None:
        self._stragglers.end()
        super()._finish()

    def _cut(self, steps: int) -> None:
        """Leave so many steps."""
        rollout, last = self.rollout, steps - 1
        assert rollout.valid is not None
        goes_on = rollout.valid[last] & ~rollout.dones[last]
        rollout.final_obs[last][goes_on] = rollout.obs[steps][goes_on]
        rollout.truncated[last] |= goes_on
        if self._with_memory:
            after = self._with_memory.step(rollout.obs[steps], self._states.now)[1]
            values = self._with_memory.values_of_states(after)
            rollout.next_values[last] = torch.where(goes_on, values, rollout.next_values[last])
        rollout.obs[-1] = rollout.obs[steps]
        for left in (rollout.rewards, rollout.terminated, rollout.truncated, rollout.valid):
            left[steps:] = 0
