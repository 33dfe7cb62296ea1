"""Updates that are not finite move nothing, and an event says where that comes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..ranks.single import SINGLE, Ranks
from ..replay import Batch
from ..rollout import Rollout


class FiniteUpdates:
    """Decides which updates may move anything, and counts the others in `num_skipped`: on the host
    where it runs every update, on the device where graphs do.
    """

    def __init__(self, is_inline: bool, device: torch.device, fails_by: str = "") -> None:
        """Where the setting `fails_by` is named, the first update to be skipped ends the run."""
        self._fails_by, self._is_inline = fails_by, is_inline
        zero = torch.zeros((), dtype=torch.int64, device=device)
        self.num_skipped: Any = 0 if is_inline else zero
        self._origin, self._has_told = "", False

    def moving(
        self, checked: Tensor, moves: Tensor | None, origin: Callable[[], str]
    ) -> Tensor | None:
        """`moves`, or 0 where `checked` [], a sum of all that is looked at, is not finite. `origin`
        says where that comes from, and is called the first time alone.

        Raises FloatingPointError then where the run is to end.
        """
        if not self._is_inline:
            is_finite = checked.isfinite()
            is_skipped = is_finite.logical_not()
            self.num_skipped += is_skipped if moves is None else is_skipped * (moves != 0)
            return is_finite.float() if moves is None else moves * is_finite
        if math.isfinite(float(checked)):
            return moves
        if moves is None or moves:  # else it is skipped anyway
            self.skip(1, origin)
        return torch.zeros(())

    def skip(self, count: int, origin: Callable[[], str]) -> None:
        """Count updates that the host knows to have moved nothing."""
        if count and not self.num_skipped:
            self._origin = origin()
        self.num_skipped += count
        if count and self._fails_by:
            raise FloatingPointError(self._said())

    def notices(self) -> list[str]:
        """What people should be told, once; waits for the device."""
        if self._has_told or not int(self.num_skipped):
            return []
        if self._fails_by:
            raise FloatingPointError(self._said())
        self._has_told = True
        return [f"{self._said()}: it moved nothing; updates/skipped counts on"]

    def _said(self) -> str:
        origin = f", which comes from {self._origin}" if self._origin else ""
        ending = f"; {self._fails_by} = fail" if self._fails_by else ""
        return f"an update's gradient was not finite{origin}{ending}"

    def state_dict(self) -> dict[str, Any]:
        return {"num_skipped": int(self.num_skipped), "has_told": self._has_told}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.num_skipped = set_count(self.num_skipped, state["num_skipped"])
        self._has_told, self._origin = state["has_told"], "a minibatch before the run was resumed"


def origin_of_nan(batch: Batch, ranks: Ranks = SINGLE) -> str:
    """What of a minibatch is not finite, in any of the ranks."""
    fields = {
        "observations": (batch.obs, batch.next_obs), "actions": (batch.actions,),
        "rewards": (batch.returns,), "importance weights": (batch.weights,),
    }  # fmt: skip
    bad = [not all(map(is_finite, parts)) for parts in fields.values()]
    num_bad = ranks.sum(torch.tensor(bad, dtype=torch.int64)).tolist()
    found = [name for name, count in zip(fields, num_bad, strict=True) if count]
    return f"the {' and '.join(found)} of its minibatch" if found else "the networks themselves"


def is_finite(x: Tensor) -> bool:
    return bool(x.isfinite().all())


def origin_in_rollout(rollout: Rollout) -> str:
    """The first number of a rollout that is not finite, in words; empty where all are finite."""
    truncated = rollout.truncated.unsqueeze(-1)
    finals = rollout.final_obs
    if not rollout.finals_in_order:  # else those of no episode are 0
        finals = finals.masked_fill(~truncated, 0)
    tensors = {
        "observation": rollout.obs, "final observation": finals, "reward": rollout.rewards,
        "action": rollout.actions,
    }  # fmt: skip
    for name, tensor in tensors.items():
        found = torch.nonzero(~tensor.isfinite())
        if len(found):
            step, row, *place = found[0].tolist()
            value = float(tensor[step, row].flatten()[place[0] if place else 0])
            who = "the policy" if name == "action" else "an environment"
            return f"{who} gave the {name} {value} (in step {step} of row {row} of the rollout)"
    return ""


def set_count(count: Any, value: int) -> Any:
    """A count at `value`: in place where it is a tensor, which graphs remember. Raises ValueError
    where a damaged checkpoint has none.
    """
    value = int(value)
    return count.fill_(value) if isinstance(count, Tensor) else value
