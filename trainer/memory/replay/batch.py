"""What is drawn from a replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .layout import Layout
from .sampling import Samples


@dataclass
class Batch:
    """B transitions of n steps at most; memory that every draw fills anew.

    `obs` and `next_obs` [B, D]; `actions` [B, ...]; `returns` [B], the discounted rewards of k
    steps; `discounts` [B], gamma^k, or 0 where the task ended: the target is returns + discounts *
    V(next_obs). `weights` [B] correct for the priorities, 1 at most, and are 1 where draws are
    uniform; 0 marks a sample that there was no row for. `index` [B] int64 are rows of the replay.

    """

    obs: Tensor
    actions: Tensor
    returns: Tensor
    next_obs: Tensor
    discounts: Tensor
    weights: Tensor
    index: Tensor
    samples: Samples = field(repr=False)  # the same memory, as tensors of two dimensions at most
    arrays: Any = field(default=None, repr=False)  # and as what a replay's loops take

    @classmethod
    def empty(cls, size: int, layout: Layout, device: torch.device) -> Batch:
        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        actions = zeros(size, *layout.action_shape, dtype=layout.action_dtype)
        samples = Samples(
            obs=zeros(size, layout.obs_size, dtype=layout.obs_dtype),
            actions=actions.view(size, -1),
            returns=zeros(size),
            next_obs=zeros(size, layout.obs_size, dtype=layout.obs_dtype),
            discounts=zeros(size),
            weights=zeros(size),
            rows=zeros(size, dtype=torch.int64),
            next_places=zeros(size, dtype=torch.int64),
            leaves=zeros(size),
        )
        return cls(
            samples.obs, actions, samples.returns, samples.next_obs, samples.discounts,
            samples.weights, index=samples.rows, samples=samples,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.returns)
