"""Action masks: the last columns of observations, which say what choices are legal.

Outputs of illegal choices become `ILLEGAL`: their probabilities are 0, and no value of theirs is a
maximum. Source: Huang and Ontanon 2020, arXiv:2006.14171.
"""

from __future__ import annotations

import torch
from torch import Tensor

ILLEGAL = -1e8  # sb3-contrib's MaskablePPO has the same


def masked(outputs: Tensor, obs: Tensor, mask_size: int) -> Tensor:
    """`outputs` [..., choices] with `ILLEGAL` where the mask of `obs` [..., obs_size] has 0."""
    if not mask_size:
        return outputs
    return outputs.masked_fill(obs[..., -mask_size:] == 0, ILLEGAL)


def with_mask(features: Tensor, obs: Tensor, mask_size: int) -> Tensor:
    """Features [..., size] followed by the mask of `obs`: [..., size + mask_size]."""
    return torch.cat([features, obs[..., -mask_size:]], -1) if mask_size else features


def any_legal(obs: Tensor, uniform: Tensor, mask_size: int) -> Tensor:
    """Legal choices [...], all equally probable, by numbers `uniform` [...] in [0, 1)."""
    is_legal = obs[..., -mask_size:] != 0
    count = is_legal.sum(-1)
    number = torch.minimum((uniform * count).long(), count - 1)
    is_chosen = is_legal & (is_legal.cumsum(-1) - 1 == number.unsqueeze(-1))
    return is_chosen.long().argmax(-1)
