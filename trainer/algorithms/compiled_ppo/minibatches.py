"""A minibatch of PPO in two compiled functions: the gradient, and the optimizer step.

With one process, `learning.py` calls both in one compiled loop. With several ranks, each computes
the gradient of its own samples, all add them up and make the same step: `ranked.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import prange
from numpy import float32
from numpy.typing import NDArray

from ...jit.compiling import compiled, specialised_part
from ...jit.templates import declared
from ...machine.threads import num_shards
from ...policies.compiled.heads import Head
from ...policies.compiled.log_stds import limit_log_stds, unpack_log_std_gradients
from ...policies.compiled.networks import CHUNK, pack, unpack_gradients
from ...policies.compiled.policy_arrays import PolicyArrays
from ..optimizer import BETA_1, BETA_2, EPSILON
from .gradients import NUM_SUMS, actor_gradients, critic_gradients

Array = NDArray[Any]

SHARD_SAMPLES = 4 * CHUNK
BLOCK = 1024  # parameters that one thread sums up at a time
WORTH_SHARING = 2**17  # additions: fewer are made before other threads have begun


@compiled
def clear(gradients, sums):
    """Set `gradients` [G] float32 and `sums` [5] float64 to 0."""
    for i in range(len(gradients)):
        gradients[i] = float32(0.0)
    for i in range(len(sums)):
        sums[i] = 0.0


@compiled
def add_up(gradients, start, stop):
    """Add all shards' `gradients` [shards, G] float32 to those of the first, from `start` to
    `stop`.
    """
    for shard in range(1, len(gradients)):
        for i in range(start, stop):
            gradients[0, i] += gradients[shard, i]


@compiled
def add_up_sums(shard_sums, sums):
    """Write the sums of `shard_sums` [shards, 5] float64 to `sums` [5]."""
    for i in range(len(sums)):
        sums[i] = 0.0
        for shard in range(len(shard_sums)):
            sums[i] += shard_sums[shard, i]


@compiled
def scale_down(gradients, max_norm):
    """Scale `gradients` [P] float32 to norm `max_norm` where theirs is larger; returns what it was,
    float64.
    """
    squares = 0.0
    for gradient in gradients:
        squares += gradient * gradient
    norm = math.sqrt(squares)
    if norm > max_norm:
        factor = float32(max_norm / norm)
        for i in range(len(gradients)):
            gradients[i] *= factor
    return norm


@compiled
def adam_step(parameters, gradients, mean, square, num_steps, learning_rate):
    """Step number `num_steps` of `FlatAdam`; arrays are [P] float32."""
    rate = float32(learning_rate / (1.0 - BETA_1**num_steps))
    correction = float32(1.0 / (1.0 - BETA_2**num_steps))
    weight_1, weight_2 = float32(1.0 - BETA_1), float32(1.0 - BETA_2)
    epsilon = float32(EPSILON)
    for i in range(len(parameters)):
        gradient = gradients[i]
        mean[i] += weight_1 * (gradient - mean[i])
        square[i] += weight_2 * (gradient * gradient - square[i])
        parameters[i] -= rate * mean[i] / (math.sqrt(square[i] * correction) + epsilon)


class ShardSums(NamedTuple):
    """Room for what each shard of a minibatch adds up: gradients [shards, G] float32 as `backward`
    lays them out, and loss sums [shards, 5] float64.
    """

    gradients: Array
    losses: Array

    @classmethod
    def of(cls, size: int, policy: PolicyArrays) -> ShardSums:
        """For minibatches of at most `size` samples."""
        most = num_shards(size, SHARD_SAMPLES)
        num_gradients = policy.num_gradients + policy.num_log_stds
        return cls(np.empty((most, num_gradients), np.float32), np.empty((most, NUM_SUMS)))


class Moments(NamedTuple):
    """The optimizer's running `mean` and `square` [P] float32 of the gradients. Gradients of the
    first `num_actor_parameters` and of the rest are clipped separately.
    """

    mean: Array
    square: Array
    num_actor_parameters: int


@declared
def minibatch_gradient(
    index, num_shards, samples, policy, terms, center, scale, weight, shard_sums, total, sums
):
    """`gradient_template`, for one distribution."""


@cache
def compile_gradient(head: Head) -> Callable[..., None]:
    """The gradient of minibatches of one distribution's actions."""
    actor = specialised_part(
        actor_gradients,
        head.label,
        log_prob_and_entropy=head.log_prob_and_entropy,
        head_backward=head.backward,
    )
    return specialised_part(gradient_template, head.label, parallel=True, actor_gradients=actor)


def gradient_template(
    index, num_shards, samples, policy, terms, center, scale, weight, shard_sums, total, sums
):
    """Write the sum of `weight` times the loss's derivatives, over the samples `index` [B] int64,
    to `total` [P] float32, and the sums of losses to `sums` [5] float64. Advantages count less
    `center`, times `scale`. A minibatch may be empty.
    """
    gradients, losses = shard_sums.gradients[:num_shards], shard_sums.losses[:num_shards]
    size, num_gradients = len(index), gradients.shape[1]
    pack(policy.parameters, policy.actor, policy.panels)
    pack(policy.parameters, policy.critic, policy.panels)
    for shard in prange(num_shards):
        clear(gradients[shard], losses[shard])
        part = index[size * shard // num_shards : size * (shard + 1) // num_shards]
        actor_gradients(
            part,
            samples,
            policy,
            terms,
            float32(center),
            float32(scale),
            float32(weight),
            gradients[shard],
            losses[shard],
        )
        critic_gradients(
            part, samples, policy, terms, float32(weight), gradients[shard], losses[shard]
        )
    if num_shards * num_gradients < WORTH_SHARING:
        add_up(gradients, 0, num_gradients)
    else:
        for block in prange((num_gradients + BLOCK - 1) // BLOCK):
            add_up(gradients, block * BLOCK, min((block + 1) * BLOCK, num_gradients))
    unpack_gradients(gradients[0], policy.actor, total)
    unpack_gradients(gradients[0], policy.critic, total)
    unpack_log_std_gradients(gradients[0], policy, total)
    add_up_sums(losses, sums)


def step_template(policy, total, moments, num_steps, terms, norms):
    """Optimizer step number `num_steps`, from 1, by the gradient `total` [P] float32, which is
    clipped in place; `norms` [2] float64 are what those of actor and critic were. Returns 1, or 0
    where these are not finite and nothing moved.
    """
    num_actor = moments.num_actor_parameters
    norms[0] = scale_down(total[:num_actor], terms.max_grad_norm)
    norms[1] = scale_down(total[num_actor:], terms.max_grad_norm)
    if not (math.isfinite(norms[0]) and math.isfinite(norms[1])):
        return 0
    adam_step(
        policy.parameters, total, moments.mean, moments.square, num_steps, terms.learning_rate
    )
    limit_log_stds(policy)
    return 1


take_step = specialised_part(step_template, "any")
