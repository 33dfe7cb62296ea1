"""Types that several folders of the trainer use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

Scalar = float | Tensor  # a number, or a tensor [] of one on a device
State = Mapping[str, Any]  # a nested state for checkpoints, of tensors and plain values
