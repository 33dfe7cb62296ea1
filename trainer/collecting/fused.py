"""A whole rollout in one kernel: policy, sampling, step and store, a thread for each environment.

Every block keeps the actor's weights in shared memory, every thread its environment and the
activations of a layer; nothing but the rollout itself goes through device memory. It is for small
networks, and the same as `ActorCollector`, but for rounding.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch
from numba import cuda, float32, float64, int64
from torch import Tensor

from ...shared.errors import ConfigError
from ..envs.bindings import obs_size, state_size
from ..envs.kernels import FINAL, NEXT, OBS, env_bindings, load_state, step_local, store_state
from ..envs.spec import EnvSpec
from ..envs.vector_on_gpu import CudaVectorEnv
from ..jit.activations import ACTIVATIONS, RELU, TANH, tanh
from ..jit.kernel import Kernel
from ..jit.normalizing import CLIP
from ..jit.templates import unbound
from ..policies.actor_critic import ActorCritic
from ..policies.compiled.heads import Head, head_of
from ..policies.compiled.heads.bindings import sample
from ..policies.compiled.networks import INPUTS, OUTPUTS, PLACE, layout_of
from ..policies.normalizers import ObsNormalizer
from .on_gpu import ActorCollector

MOST_PARAMETERS = 12_288  # 48 KiB, what a block may have of shared memory without asking
_ZERO = np.float32(0.0)


class FusedCollector(ActorCollector):
    """Gathers rollouts as `ActorCollector` does, with one launch for all steps."""

    _policy: ActorCritic

    def __init__(self, envs: CudaVectorEnv, policy: ActorCritic, steps: int) -> None:
        super().__init__(envs, policy, steps)
        if policy.num_actor_parameters > MOST_PARAMETERS:
            raise ConfigError(
                f"rollout = fused: the actor has {policy.num_actor_parameters} parameters, and "
                f"shared memory has room for {MOST_PARAMETERS}; rollout = steps takes any"
            )
        if policy.precision != torch.float32:
            raise ConfigError(
                "rollout = fused: it computes in float32; policy.precision = bfloat16 needs steps"
            )
        self._layers = torch.from_numpy(layout_of((policy.actor_sizes,)).tables[0]).to(envs.device)
        distribution = policy.distribution
        width = max(*policy.actor_sizes, distribution.num_outputs)
        self._kernel = make_fused(
            envs.spec, head_of(distribution), policy.num_actor_parameters, width
        )

    def _steps(self, steps: int) -> None:
        rollout, envs, policy = self.rollout, self.envs, self._policy
        num_log_stds = np.int64(policy.distribution.num_log_stds)
        parameters = policy.flat_parameters[: policy.num_actor_parameters]
        activation = np.int64(ACTIVATIONS.index(policy.activation))
        self._kernel.launch(
            envs.num_envs,
            envs.state,
            envs.totals,
            envs.source,
            self._steps_before,
            isinstance(policy.normalizer, ObsNormalizer),
            parameters,
            self._layers,
            activation,
            *obs_statistics(policy),
            num_log_stds,
            self._table,
            rollout.obs,
            rollout.actions,
            self._env_actions,
            rollout.rewards,
            rollout.terminated,
            rollout.truncated,
            rollout.log_probs,
            rollout.final_obs,
            self._num_truncated,
        )


def obs_statistics(policy: ActorCritic) -> tuple[Tensor, Tensor]:
    """Mean and deviation [D] of observations; those that change nothing where none are kept."""
    if isinstance(policy.normalizer, ObsNormalizer):
        moments = policy.normalizer.moments
        return moments.mean.float(), moments.deviation
    size = policy.actor_sizes[0]
    parameters = policy.flat_parameters
    return parameters.new_zeros(size), parameters.new_ones(size)


@cache
def make_fused(spec: EnvSpec, head: Head, num_parameters: int, width: int) -> Kernel:
    """The kernel of one environment, for actors of this many parameters and at most this width."""
    return Kernel(
        collect_one,
        f"{spec.name}_{head.label}_{num_parameters}_{width}",
        thread=thread_template,
        loop=loop_template,
        sample=head.sample,
        num_parameters=num_parameters,
        width=width,
        keeps_final=True,
        **env_bindings(spec),
    )


num_parameters: int = unbound("of the actor")
width: int = unbound("the most activations of a layer")

PARAMETERS = 5  # their place among the arguments


def thread_template(size, arguments):
    parameters = arguments[PARAMETERS]
    weights = cuda.shared.array(num_parameters, float32)
    for i in range(cuda.threadIdx.x, num_parameters, cuda.blockDim.x):
        weights[i] = parameters[i]
    cuda.syncthreads()
    env = cuda.grid(1)
    if env < size:
        x = cuda.local.array((1, width), float32)
        y = cuda.local.array((1, width), float32)
        fields = cuda.local.array((state_size, 1), float32)
        counts = cuda.local.array(2, int64)
        return_ = cuda.local.array(1, float64)
        obs = cuda.local.array((2, obs_size), float32)
        collect_one(env, weights, x, y, (fields, counts, return_, obs), arguments)


def loop_template(size, arguments):
    weights = arguments[PARAMETERS]
    for env in range(size):
        x = np.empty((1, width), np.float32)
        y = np.empty((1, width), np.float32)
        fields = np.empty((state_size, 1), np.float32)
        counts = np.empty(2, np.int64)
        return_ = np.empty(1, np.float64)
        obs = np.empty((2, obs_size), np.float32)
        collect_one(env, weights, x, y, (fields, counts, return_, obs), arguments)


def collect_one(env, weights, x, y, local, arguments):
    """The rollout of one environment."""
    (
        state,
        totals,
        source,
        steps_before,
        normalizes,
        _,
        layers,
        activation,
        mean,
        deviation,
        num_log_stds,
        table,
        all_obs,
        actions,
        env_actions,
        rewards,
        terminated,
        truncated,
        log_probs,
        final_obs,
        num_truncated,
    ) = arguments
    obs = local[OBS]
    load_state(env, local, state)
    for part in range(obs_size):
        obs[NEXT, part] = all_obs[0, env, part]
    for t in range(len(rewards)):
        for part in range(obs_size):
            value = obs[NEXT, part]
            if normalizes:
                value = (value - mean[part]) / deviation[part]
                value = min(max(value, -CLIP), CLIP)
            x[0, part] = value
        forward(x, y, weights, layers, activation)
        outputs = y if len(layers) % 2 == 1 else x
        num_outputs = layers[len(layers) - 1, OUTPUTS]
        for k in range(num_log_stds):
            outputs[0, num_outputs + k] = weights[num_parameters - num_log_stds + k]
        random = (steps_before[0] + t, source.first_env + env, source.seed)
        log_probs[t, env] = sample(
            outputs, 0, num_outputs + num_log_stds, table, random, env, actions[t], env_actions
        )
        reward, ends, is_truncated = step_local(env, local, totals, source, env_actions[env])
        rewards[t, env], terminated[t, env], truncated[t, env] = reward, ends, is_truncated
        for part in range(obs_size):
            all_obs[t + 1, env, part] = obs[NEXT, part]
        if is_truncated:
            for part in range(obs_size):
                final_obs[num_truncated[env], env, part] = obs[FINAL, part]
            num_truncated[env] += 1
    store_state(env, local, state)


def forward(x, y, weights, layers, activation):
    """The actor's outputs for the observation in `x` [1, width]: in `y` where the number of layers
    is odd, else in `x`.
    """
    last = len(layers) - 1
    for layer in range(last + 1):
        inputs, outputs = layers[layer, INPUTS], layers[layer, OUTPUTS]
        place = layers[layer, PLACE]
        if layer % 2 == 0:
            product(x, y, weights, inputs, outputs, place)
            activate(y, outputs, activation, layer < last)
        else:
            product(y, x, weights, inputs, outputs, place)
            activate(x, outputs, activation, layer < last)


def product(x, y, weights, inputs, outputs, place):
    """y[0] = W x[0] + b, four outputs at a time: that many sums fit into registers."""
    bias = place + inputs * outputs
    whole = outputs - outputs % 4
    for j in range(0, whole, 4):
        row_0 = place + j * inputs
        row_1, row_2, row_3 = row_0 + inputs, row_0 + 2 * inputs, row_0 + 3 * inputs
        sum_0, sum_1 = weights[bias + j], weights[bias + j + 1]
        sum_2, sum_3 = weights[bias + j + 2], weights[bias + j + 3]
        for i in range(inputs):
            value = x[0, i]
            sum_0 += value * weights[row_0 + i]
            sum_1 += value * weights[row_1 + i]
            sum_2 += value * weights[row_2 + i]
            sum_3 += value * weights[row_3 + i]
        y[0, j], y[0, j + 1], y[0, j + 2], y[0, j + 3] = sum_0, sum_1, sum_2, sum_3
    for j in range(whole, outputs):
        total = weights[bias + j]
        for i in range(inputs):
            total += x[0, i] * weights[place + j * inputs + i]
        y[0, j] = total


def activate(y, outputs, activation, is_hidden):
    if not is_hidden:
        return
    for j in range(outputs):
        value = y[0, j]
        if activation == TANH:
            y[0, j] = tanh(value)
        elif activation == RELU:
            y[0, j] = max(value, _ZERO)
        else:
            y[0, j] = value if value > _ZERO else np.float32(math.expm1(value))
