"""Derivatives of the PPO loss by all parameters, for some samples of a minibatch."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy import float32
from numpy.typing import NDArray

from ...jit.compiling import compiled
from ...jit.normalizing import normalize_chosen
from ...policies.compiled.heads.bindings import head_backward, log_prob_and_entropy
from ...policies.compiled.log_stds import add_log_std_gradients, append_log_stds
from ...policies.compiled.networks import CHUNK, backward, forward
from ..ppo import LossSums

Array = NDArray[Any]

NUM_SUMS = len(LossSums._fields)
POLICY, VALUE, ENTROPY, KL, CLIPPED = range(NUM_SUMS)

_ONE = float32(1.0)
_HALF = float32(0.5)
_ZERO = float32(0.0)


class Samples(NamedTuple):
    """A rollout as samples, [B] each; `obs` [B, D]."""

    obs: Array
    actions: Array
    log_probs: Array
    advantages: Array
    returns: Array
    values: Array


class Terms(NamedTuple):
    """Coefficients of the loss and of the optimizer step, all float32."""

    learning_rate: Any
    clip_coef: Any
    entropy_coef: Any
    value_coef: Any
    value_clip: Any  # infinite: none
    max_grad_norm: Any
    target_kl: Any  # infinite: none


def actor_gradients(index, samples, policy, terms, center, scale, weight, gradients, sums):
    """Add the derivative of the policy's loss, over the samples `index`, to `gradients`."""
    layers = policy.actor
    last = len(layers) - 1
    x, outputs_of, deltas = scratch(policy)
    outputs, delta = outputs_of[last], deltas[last % 2]
    objectives, entropies, divergences, num_clipped = 0.0, 0.0, 0.0, 0
    for first in range(0, len(index), CHUNK):
        rows = min(CHUNK, len(index) - first)
        normalize_chosen(samples.obs, index, first, rows, policy, x)
        forward(x, rows, policy.parameters, policy.panels, layers, policy.activation, outputs_of)
        append_log_stds(outputs, rows, policy)
        for row in range(rows):
            sample = index[first + row]
            advantage = (samples.advantages[sample] - center) * scale
            log_prob, entropy = log_prob_and_entropy(
                outputs, row, policy.num_outputs, policy.table, samples.actions, sample
            )
            log_ratio = log_prob - samples.log_probs[sample]
            ratio = math.exp(log_ratio)
            clipped = min(max(ratio, _ONE - terms.clip_coef), _ONE + terms.clip_coef)
            objective = min(ratio * advantage, clipped * advantage)
            # Where clipping makes the objective worse it is constant.
            by_log_prob = -objective * weight if objective == ratio * advantage else _ZERO
            head_backward(
                outputs,
                row,
                policy.num_outputs,
                policy.table,
                samples.actions,
                sample,
                by_log_prob,
                -terms.entropy_coef * weight,
                entropy,
                delta,
            )
            objectives += objective
            entropies += entropy
            divergences += (ratio - _ONE) - log_ratio
            num_clipped += abs(ratio - _ONE) > terms.clip_coef
        add_log_std_gradients(delta, rows, policy, gradients)
        backward(x, rows, policy.panels, layers, policy.activation, outputs_of, deltas, gradients)
    sums[POLICY] -= objectives
    sums[ENTROPY] += entropies
    sums[KL] += divergences
    sums[CLIPPED] += num_clipped


@compiled
def critic_gradients(index, samples, policy, terms, weight, gradients, sums):
    """Add the derivative of the values' loss, over the samples `index`, to `gradients`."""
    layers = policy.critic
    last = len(layers) - 1
    x, outputs_of, deltas = scratch(policy)
    outputs, delta = outputs_of[last], deltas[last % 2]
    for first in range(0, len(index), CHUNK):
        rows = min(CHUNK, len(index) - first)
        normalize_chosen(samples.obs, index, first, rows, policy, x)
        forward(x, rows, policy.parameters, policy.panels, layers, policy.activation, outputs_of)
        for row in range(rows):
            value, sample = outputs[row, 0], index[first + row]
            error = value - samples.returns[sample]
            move = min(max(value - samples.values[sample], -terms.value_clip), terms.value_clip)
            clipped_error = samples.values[sample] + move - samples.returns[sample]
            # Where the clipped error is the larger one it is constant.
            clipped = abs(clipped_error) > abs(error) and abs(move) == terms.value_clip
            delta[row, 0] = _ZERO if clipped else terms.value_coef * error * weight
            sums[VALUE] += _HALF * (clipped_error * clipped_error if clipped else error * error)
        backward(x, rows, policy.panels, layers, policy.activation, outputs_of, deltas, gradients)


@compiled
def scratch(policy):
    """Memory for one chunk: inputs, every layer's outputs, and derivatives by them."""
    x = np.zeros((CHUNK, policy.width), np.float32)
    outputs_of = np.zeros((len(policy.actor), CHUNK, policy.width), np.float32)
    return x, outputs_of, np.zeros((2, CHUNK, policy.width), np.float32)
