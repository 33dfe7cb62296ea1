"""A run whose weights are no longer numbers ends: nothing that comes after can be learned."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from ..shared.errors import OperantError
from .experiment import Experiment
from .rollout import Rollout


class DivergedError(OperantError):
    """Weights of the policy are NaN or infinite; the text says where that comes from."""


def check_weights(experiment: Experiment, values: Mapping[str, float]) -> None:
    """Look at the weights where an iteration's `values` have a loss that is not finite, as an
    update that was skipped has too. Raises DivergedError.
    """
    losses = {name: value for name, value in values.items() if name.startswith("loss/")}
    if all(map(math.isfinite, losses.values())):
        return
    if experiment.policy.flat_parameters.isfinite().all():
        return
    raise DivergedError(
        f"the policy's weights are no longer numbers since iteration {experiment.iteration}: "
        f"{origin(experiment.collector.rollout)}"
    )


def origin(rollout: Rollout) -> str:
    """What of a rollout is not finite, and where it first is not."""
    names = {"observation": rollout.obs, "final observation": rollout.final_obs}
    for name, tensor in {**names, "reward": rollout.rewards}.items():
        place = first_bad(tensor)
        if place is not None:
            step, row = place[:2]
            value = float(tensor[step, row].flatten()[place[2] if len(place) > 2 else 0])
            at = f"step {step} of row {row}"
            return f"an environment gave the {name} {value} (in {at} of the newest rollout)"
    return (
        "all observations and rewards are finite, so the updates themselves went too far; "
        "a smaller learning rate may help"
    )


def first_bad(tensor: Tensor) -> list[int] | None:
    """The place of the first value that is not finite."""
    found = torch.nonzero(~tensor.isfinite())
    return found[0].tolist() if len(found) else None
