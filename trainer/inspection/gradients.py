"""Statistics of gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def gradient_statistics(gradients: Sequence[Tensor]) -> dict[str, float]:
    """Mean, variance (over the count, not one less) and norm of all numbers of `gradients`; nothing
    where there are none yet. Waits for the device.
    """
    if not gradients:
        return {}
    every = torch.cat([gradient.detach().flatten() for gradient in gradients]).double()
    mean = every.mean()
    figures = {"mean": mean, "variance": (every - mean).square().mean(), "norm": every.norm()}
    return {f"gradient/{name}": float(figure) for name, figure in figures.items()}
