"""The environments of one worker, whose episodes are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checking import EnvError
from .arrays import Arrays, Counters


class Block:
    """Steps batched environments in the arrays it is given.

    Ends that are both are `terminated` alone: there is nothing to bootstrap. Where environments
    have `games`, these are counted, and not the episodes that are learned from.
    """

    def __init__(self, envs: Any, num_agents: int, arrays: Arrays, counters: Counters) -> None:
        self.envs, self._num_agents = envs, num_agents
        self._arrays, self._counters = arrays, counters
        self.returns, self.lengths = np.zeros(len(arrays.reward)), np.zeros(len(arrays.reward))
        envs.attach(arrays)

    def reset(self, seeds: NDArray[Any]) -> None:
        """Begin an episode everywhere, environment e with `seeds[e]`."""
        self.returns[:] = 0
        self.lengths[:] = 0
        self._arrays.valid[:] = True
        self.envs.reset(seeds)

    def step(self) -> None:
        """Step every environment with its own of the actions."""
        a = self._arrays
        try:
            self.envs.step()
        except EnvError as error:
            env = int(self._counters.current[0])
            if env < 0:
                raise
            length = self.lengths.reshape(-1, self._num_agents).max(1)[env]
            raise EnvError(f"{error} (step {length + 1:g} of its episode)") from None
        if self._num_agents > 1:
            for array in (a.reward, a.terminated, a.truncated):
                array[~a.valid] = 0
        a.truncated[a.terminated] = False
        done = a.terminated | a.truncated
        games = getattr(self.envs, "games", None)
        reward, is_over = games or (a.reward, done)
        self.returns += reward
        self.lengths += a.valid
        if is_over.any():
            self._count(is_over)

    def _count(self, done: NDArray[Any]) -> None:
        sums = self.returns[done], self.lengths[done]
        self._counters.totals[:] += (done.sum(), sums[0].sum(), sums[1].sum())
        self.returns[done] = 0
        self.lengths[done] = 0

    def close(self) -> None:
        close = getattr(self.envs, "close", None)
        if close:
            close()
