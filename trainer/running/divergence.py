"""A run whose weights are no longer numbers ends: nothing that comes after can be learned."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...shared.errors import OperantError
from ..algorithms.optimizer import origin_in_rollout
from ..experiment.experiment import Experiment


class DivergedError(OperantError):
    """Weights of a run are NaN or infinite; the text says where that comes from."""


def check_weights(experiment: Experiment, values: Mapping[str, float]) -> None:
    """Look at all that updates move, and at the policy's statistics, where an iteration's `values`
    have a loss that is not finite, as an update that was skipped has too. Raises DivergedError.
    """
    losses = {name: value for name, value in values.items() if name.startswith("loss/")}
    if all(map(math.isfinite, losses.values())):
        return
    policy = experiment.policy
    if not policy.flat_parameters.isfinite().all():
        what = "the policy's weights are"
    elif not all(x.isfinite().all() for x in experiment.algorithm.weights):
        what = "weights of critics, targets or alpha are"
    elif not all(x.isfinite().all() for x in policy.state_dict().values()):
        what = "the policy's statistics of observations are"
    else:
        return
    origin = origin_in_rollout(experiment.collector.rollout) or (
        "all observations and rewards are finite, so the updates themselves went too far; "
        "a smaller learning rate may help"
    )
    raise DivergedError(
        f"{what} no longer numbers since iteration {experiment.iteration}: {origin}"
    )
