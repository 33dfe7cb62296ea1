"""The costs of a controller, as commands and reports show them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...trainer.tinyphysics_training.controlling import Driven


def mean_costs(result: Driven) -> dict[str, Any]:
    return {
        "routes": len(result.names),
        "lataccel_cost": finite_or_none(result.lataccel_costs.mean()),
        "jerk_cost": finite_or_none(result.jerk_costs.mean()),
        "total_cost": finite_or_none(result.total_costs.mean()),
    }


def costs_line(name: str, result: Driven) -> str:
    costs = mean_costs(result)
    return (
        f"{name}: lataccel_cost {costs['lataccel_cost']:.4f}, jerk_cost {costs['jerk_cost']:.4f}, "
        f"total_cost {costs['total_cost']:.4f}, mean of {len(result.names)} routes in "
        f"{result.elapsed_s:.1f} s"
    )


def finite_or_none(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
