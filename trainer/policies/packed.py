"""Packed rows: bytes in which the parts of an observation lie side by side, each in its own type.

What takes them also takes rows of numbers, in which the same parts are flattened and joined, as
Gymnasium's `flatten` does it: those of ONNX files and of who asks a policy for actions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..spaces.encoders import Part


def numbers_of(obs: Tensor, part: Part) -> Tensor:
    """The numbers [..., part.obs_size] of a part, of rows `obs` [..., D]; bytes or float32."""
    if obs.dtype is not torch.uint8:
        return obs[..., part.start : part.start + part.obs_size]
    packed = obs[..., part.offset : part.offset + part.obs_bytes]
    return packed if part.obs_type is np.uint8 else packed.view(torch.float32)


def as_numbers(obs: Tensor, parts: Sequence[Part]) -> Tensor:
    """Rows of numbers [..., total of the parts], float32, without an action mask."""
    return torch.cat([numbers_of(obs, part).float() for part in parts], -1)
