"""Log standard deviations that are parameters: appended to the outputs of the actor's network, and
their gradients.
"""

from __future__ import annotations

from numpy import float32

from ...jit.compiling import compiled
from ..distributions.gaussian import MAX_LOG_STD, MIN_LOG_STD

_LEAST, _MOST = float32(MIN_LOG_STD), float32(MAX_LOG_STD)


@compiled
def append_log_stds(outputs, rows, policy):
    """Make the last of outputs[:rows, :num_outputs] the parameters that they are."""
    first = policy.num_outputs - policy.num_log_stds
    for row in range(rows):
        for k in range(policy.num_log_stds):
            outputs[row, first + k] = policy.parameters[policy.log_std_place + k]


@compiled
def add_log_std_gradients(delta, rows, policy, gradients):
    """Add to the end of `gradients` what the derivative by all outputs, delta[:rows], gives."""
    first = policy.num_outputs - policy.num_log_stds
    for row in range(rows):
        for k in range(policy.num_log_stds):
            gradients[policy.num_gradients + k] += delta[row, first + k]


@compiled
def unpack_log_std_gradients(gradients, policy, flat):
    """Write them to `flat`, laid out as the parameters are."""
    for k in range(policy.num_log_stds):
        flat[policy.log_std_place + k] = gradients[policy.num_gradients + k]


@compiled
def limit_log_stds(policy):
    """`ActorCritic.limit_log_std`."""
    for i in range(policy.log_std_place, policy.log_std_place + policy.num_log_stds):
        policy.parameters[i] = min(max(policy.parameters[i], _LEAST), _MOST)
