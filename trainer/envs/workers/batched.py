"""Environments that are stepped together: the protocol, also for one's own.

A *batched environment* is E environments, written perhaps in C, that step at once and write into
arrays that they are given. `env = "native:module:function"` trains on one: the function is called
with the number of environments and returns an object like this.
"""

from __future__ import annotations

from typing import Protocol

from ...spaces import ActionSpec
from .arrays import Array, Arrays


class BatchedEnvs(Protocol):
    """E environments of A agents, each agent a row.

    `num_agents` may be missing: it is 1 then. So may `obs_type`, numpy's float32 unless it is
    uint8, `obs_shape`, the shape that a row of `obs` has flattened, `obs_range`, the smallest and
    the largest number in observations, `mask_size` and `close`. With `games` (`arrays.Games`), the
    reported returns and episodes come from there, not from `reward`, `terminated` and `truncated`.

    With a `mask_size` the last so many of the `obs_size` columns of `obs` and `final_obs` are an
    action mask, which `obs_shape` leaves out: 1 for each legal choice and 0 for the others, those
    of `MultiDiscrete` one after the other.
    """

    obs_size: int
    actions: ActionSpec
    num_agents: int

    def attach(self, arrays: Arrays) -> None:
        """Take the arrays that everything is read from and written to; called once, at first."""

    def reset(self, seeds: Array) -> None:
        """Begin an episode everywhere, environment e with `seeds[e]` (uint64 [E]): writes `obs`."""

    def step(self) -> None:
        """Step everywhere with `actions`: writes `obs`, `reward`, `terminated` and `truncated`.

        Where the episode of an environment is over for all its agents, it begins the next one in
        this same step: `final_obs` has the last observations and `obs` the first of the next. An
        agent whose episode ends before the others' has `terminated` or `truncated` once, its
        `final_obs`, and `valid` False from the next step to the end of the others'.
        """

    def close(self) -> None:
        """Free what is held."""
