"""States of environments and rows: of one rank, and in checkpoints of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .single import Ranks


def whole_state(ranks: Ranks, own: Mapping[str, Any], dim: int) -> Mapping[str, Any]:
    """Tensors of environments or rows, which lie along `dim`, of those of all ranks."""
    if ranks.size == 1:
        return own
    return {name: ranks.gathered(x, dim) for name, x in own.items()}


def own_state(ranks: Ranks, whole: Mapping[str, Any], dim: int) -> Any:
    """What of the state that `whole_state` gives is of the environments here."""
    if ranks.size == 1:
        return whole
    return {name: ranks.own_part(x, dim) for name, x in whole.items()}
