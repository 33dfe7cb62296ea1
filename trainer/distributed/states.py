"""States of environments and rows in ranks and checkpoints, and broadcasts from rank 0."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import torch

from .process_group import ProcessGroup


def gather_state(ranks: ProcessGroup, state: Mapping[str, Any], dim: int) -> dict[str, Any]:
    """Tensors with the rows of all ranks along `dim`."""
    return {name: ranks.gather(x, dim) for name, x in state.items()}


def slice_state(ranks: ProcessGroup, state: Mapping[str, Any], dim: int) -> dict[str, Any]:
    """This rank's rows of the tensors that `gather_state` returns."""
    return {name: ranks.my_slice(x, dim) for name, x in state.items()}


def broadcast_state(
    ranks: ProcessGroup, state: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Rank 0's nested state of tensors and plain values, in all ranks."""
    if ranks.size == 1:
        return state
    data = bytearray()
    if ranks.rank == 0 and state is not None:
        file = io.BytesIO()
        torch.save(dict(state), file)
        data = bytearray(file.getbuffer())
    num_bytes = int(ranks.broadcast(torch.tensor([len(data)])))
    if not num_bytes:
        return None
    if ranks.rank:
        data = bytearray(num_bytes)
    ranks.broadcast(torch.frombuffer(data, dtype=torch.uint8))
    received: Mapping[str, Any] = torch.load(io.BytesIO(data), weights_only=True)  # runs no code
    return received
