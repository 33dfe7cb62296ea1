"""A policy as the compiled loops take it: views of its tensors, no copies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...jit.activations import ACTIVATIONS
from ..actor_critic import ActorCritic
from ..normalizers import ObsNormalizer
from .heads import table_of
from .networks import layout_of

Array = NDArray[Any]


class PolicyArrays(NamedTuple):
    """`parameters` [P] is the policy's own memory; `panels` holds copies of its layers as products
    take them, as of the last `pack`. `actor` and `critic` are tables of layers, `width` is the room
    for the activations of the widest of them, or for all outputs to the distribution. The last
    `num_log_stds` of those are parameters, from `log_std_place` on; `table` is the distribution's.
    """

    parameters: Array
    panels: Array
    actor: Array
    critic: Array
    activation: int
    width: int
    num_gradients: int
    num_outputs: int
    num_log_stds: int
    log_std_place: int
    table: Array
    normalizes_obs: bool
    obs_mean: Array  # [D] float32
    obs_deviation: Array  # [D] float32


def policy_arrays(policy: ActorCritic) -> PolicyArrays:
    """The present state of `policy`; its statistics are copied, the rest is shared."""
    parameters, distribution = policy.flat_parameters.numpy(), policy.distribution
    mean, deviation = _moments(policy)
    layout = layout_of((policy.actor_sizes, policy.critic_sizes), distribution.num_log_stds)
    return PolicyArrays(
        parameters=parameters,
        panels=np.zeros(layout.num_panels, np.float32),
        actor=layout.tables[0],
        critic=layout.tables[1],
        activation=ACTIVATIONS.index(policy.activation),
        width=max(layout.width, distribution.num_outputs),
        num_gradients=layout.num_gradients,
        num_outputs=distribution.num_outputs,
        num_log_stds=distribution.num_log_stds,
        log_std_place=policy.num_actor_parameters - distribution.num_log_stds,
        table=table_of(distribution),
        normalizes_obs=mean is not None,
        obs_mean=np.zeros(0, np.float32) if mean is None else mean,
        obs_deviation=np.zeros(0, np.float32) if deviation is None else deviation,
    )


def _moments(policy: ActorCritic) -> tuple[Array, Array] | tuple[None, None]:
    """Mean and standard deviation of observations, where the policy normalises them."""
    if not isinstance(policy.normalizer, ObsNormalizer):
        return None, None
    moments = policy.normalizer.moments
    return moments.mean.float().numpy(), moments.deviation.numpy()
