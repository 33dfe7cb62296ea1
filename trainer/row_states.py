"""What a policy with memory knows of each row of a rollout, from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from .networks.policy import Policy, first_state
from .rollout import ALL, Rollout


class RowStates:
    """The state `now` [N, S] of every row before its next step; moved in place, so that a captured
    graph finds it. Without memory S is 0, and nothing is done.

    Who collects owns one: evaluations have states of their own.
    """

    def __init__(self, policy: Policy, rollout: Rollout) -> None:
        self._rollout = rollout
        num_steps, num_rows = rollout.rewards.shape
        self._horizon = policy.horizon or num_steps
        self.now = first_state(policy, num_rows, rollout.rewards.device)

    def before(self, t: int, rows: slice = ALL) -> Tensor:
        """The states before step `t`; the rollout keeps them where a piece of it begins."""
        states = self._rollout.states
        if states is not None and t % self._horizon == 0:
            states[t // self._horizon, rows] = self.now[rows]
        return self.now[rows]

    def after(self, t: int, states: Tensor, rows: slice = ALL) -> None:
        """Go on with the `states` that step `t` led to, anew where an episode ended in it."""
        if self._rollout.states is None:
            return
        now = self.now[rows]
        now.copy_(states)
        now.masked_fill_(self._rollout.resets(t, rows).unsqueeze(-1), 0.0)

    def forget(self) -> None:
        """All episodes are others now."""
        self.now.zero_()

    def state_dict(self) -> dict[str, Any]:
        """In main memory; empty without memory."""
        return {} if self._rollout.states is None else {"memory": self.now.cpu().clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """`state` is the whole collector's."""
        if self._rollout.states is not None:
            self.now.copy_(torch.as_tensor(state["memory"]))
