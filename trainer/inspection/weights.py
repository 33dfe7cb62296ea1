"""What the weights of a policy have come to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

Layers = dict[str, dict[str, float]]


def analysed(parameters: Mapping[str, Tensor]) -> tuple[dict[str, float], Layers]:
    """Metrics of all parameters, and by name of every matrix its largest and smallest singular
    value, its norm, and its effective rank. Waits for the device.
    """
    layers = {
        name: layer_statistics(tensor)
        for name, tensor in parameters.items()
        if tensor.ndim >= 2 and tensor.numel()
    }
    squares = sum(float(p.detach().double().square().sum()) for p in parameters.values())
    metrics = {"weights/norm": math.sqrt(squares)}
    if layers:
        values = layers.values()
        metrics["weights/largest_singular_value"] = max(x["largest_singular_value"] for x in values)
        metrics["weights/lowest_rank_fraction"] = min(x["rank_fraction"] for x in values)
    return metrics, layers


def layer_statistics(weights: Tensor) -> dict[str, float]:
    """Of a layer's weights [outputs, ...inputs], as a matrix."""
    matrix = weights.detach().to("cpu", torch.float64).flatten(1)
    if not matrix.isfinite().all():
        return dict.fromkeys(
            ("largest_singular_value", "smallest_singular_value", "norm", "effective_rank",
             "rank_fraction"), math.nan,
        )  # fmt: skip
    singular: Any = torch.linalg.svdvals(matrix)
    rank = effective_rank(singular)
    return {
        "largest_singular_value": float(singular.max()),
        "smallest_singular_value": float(singular.min()),
        "norm": float(singular.norm()),
        "effective_rank": rank,
        "rank_fraction": rank / len(singular),
    }


def effective_rank(singular_values: Tensor) -> float:
    """exp(H(p)) with p_i = s_i / sum s: from 1 to the number of values; 0 where all are 0.

    Source: Roy and Vetterli 2007, "The effective rank: a measure of effective dimensionality".
    """
    total = float(singular_values.sum())
    if not total:
        return 0.0
    shares = singular_values / total
    return float(torch.special.entr(shares).sum().exp())
