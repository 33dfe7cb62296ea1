"""Updates whose gradient is not finite move nothing, and people are told where that comes from."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..ranks.single import SINGLE, Ranks
from ..replay import Batch


class FiniteUpdates:
    """Tells which updates may move weights. `num_skipped` may not: a number where the host runs
    every update, on the device where graphs do.
    """

    def __init__(
        self,
        key: str,
        fails: bool,
        is_inline: bool,
        device: torch.device,
        ranks: Ranks = SINGLE,
    ) -> None:
        """With `fails` the first to be skipped ends the run; `key` is the setting that says so."""
        self._key, self._fails, self._is_inline = key, fails, is_inline
        zero = torch.zeros((), dtype=torch.int64, device=device)
        self.num_skipped: Any = 0 if is_inline else zero
        self._has_told, self._ranks = False, ranks

    def moving(self, norm: Tensor, moves: Tensor | None, batch: Batch) -> Tensor | None:
        """`moves`, or 0 where a gradient's `norm` [] is not finite.

        Raises FloatingPointError then where the run is to end.
        """
        if not self._is_inline:
            is_finite = norm.isfinite()
            self.num_skipped += is_finite.logical_not()
            return is_finite.float() if moves is None else moves * is_finite
        if math.isfinite(float(norm)):
            return moves
        if not self.num_skipped:
            self._origin = origin_of_nan(batch, self._ranks)
        self.num_skipped += 1
        if self._fails:
            raise FloatingPointError(self._said())
        return torch.zeros(())

    def notices(self) -> list[str]:
        """What people should be told, once; waits for the device."""
        if self._has_told or not int(self.num_skipped):
            return []
        if self._fails:
            raise FloatingPointError(self._said())
        self._has_told = True
        return [f"{self._said()}: it moved nothing; updates/skipped counts on"]

    def _said(self) -> str:
        origin = f", which comes from {self._origin}" if self._is_inline else ""
        ending = f"; {self._key} = fail" if self._fails else ""
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


def set_count(count: Any, value: int) -> Any:
    """A count at `value`: in place where it is a tensor, which graphs remember. Raises ValueError
    where a damaged checkpoint has none.
    """
    value = int(value)
    return count.fill_(value) if isinstance(count, Tensor) else value
