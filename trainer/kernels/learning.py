"""A whole PPO update as one compiled loop: epochs, minibatches, gradients, optimizer.

`ppo.py` is the same in PyTorch. A minibatch is shared out in shards of fixed sizes whose gradients
are summed in a fixed order, so the number of threads changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import prange
from numpy import float32
from numpy.typing import NDArray
from torch import Tensor

from ..adam import Adam
from ..compiling import specialised
from ..config import PPOConfig
from ..policy import ActorCritic
from ..ppo import Coefficients, minibatch_orders, update_metrics
from ..rollout import Rollout, set_generator
from ..threads import Threads, shards
from .advantages import center_and_scale, gae_loop, normalize_all
from .gradients import (
    KL,
    NUM_SUMS,
    Samples,
    Terms,
    actor_gradients_template,
    critic_gradients,
)
from .heads import Head, head_of
from .log_stds import limit_log_stds, unpack_log_std_gradients
from .networks import CHUNK, pack, unpack_gradients
from .optimizing import adam_step, add_up, add_up_sums, clear, scale_down
from .policy_arrays import policy_arrays

Array = NDArray[Any]

SHARD_SAMPLES = 4 * CHUNK
BLOCK = 1024  # parameters that one thread sums up without looking up
WORTH_SHARING = 2**17  # additions: fewer are made before other threads have begun


class Results(NamedTuple):
    """What an update fills in: loss sums [steps, 5], gradient norms [steps, 2], and how many
    optimizer steps there were [1].
    """

    sums: Array
    norms: Array
    num_steps: Array


class CompiledPPO:
    """Learns from rollouts as `PPO` does, on all cores and without Python between the steps."""

    def __init__(self, policy: ActorCritic, config: PPOConfig, threads: Threads, seed: int) -> None:
        self._policy, self._config, self._threads = policy, config, threads
        self.optimizer = Adam(policy.flat_parameters)
        self._seed, self._generator = seed, torch.Generator().manual_seed(seed)
        self._num_orders = 0  # of samples, drawn so far
        self._learn = compile_learn(head_of(policy.distribution))
        most_steps = config.num_epochs * config.num_minibatches
        self._results = Results(
            np.zeros((most_steps, NUM_SUMS)), np.zeros((most_steps, 2)), np.zeros(1, np.int64)
        )

    @property
    def num_steps(self) -> int:
        """Steps of the optimizer since the start, with those of the update under way."""
        return self.optimizer.num_steps + int(self._results.num_steps[0])

    @property
    def loops(self) -> tuple[Any, ...]:
        """Those that are called, in the order of their first calls."""
        by_rollout = self._config.normalize_advantages == "rollout"
        return (gae_loop, normalize_all, self._learn) if by_rollout else (gae_loop, self._learn)

    def update(
        self, rollout: Rollout, rewards: Tensor, progress_fraction: float
    ) -> dict[str, float]:
        """Learn from `rollout` with `rewards` [T, N], normalised or not; returns the metrics."""
        config, results = self._config, self._results
        coefficients = Coefficients.at(config, progress_fraction)
        advantages, returns = np.empty((2, *rewards.shape), np.float32)
        gae_loop(
            rewards.numpy(), rollout.values.numpy(), rollout.next_values.numpy(),
            rollout.terminated.numpy(), rollout.truncated.numpy(),
            float32(config.gamma), float32(config.gae_lambda), advantages, returns,
        )  # fmt: skip
        tensors = (
            rollout.obs[:-1], rollout.actions, rollout.log_probs, torch.from_numpy(advantages),
            torch.from_numpy(returns), rollout.values,
        )  # fmt: skip
        samples = Samples(*(rollout.valid_of(x).numpy() for x in tensors))
        if config.normalize_advantages == "rollout":
            normalize_all(samples.advantages)
        self._num_orders += config.num_epochs
        orders = torch.stack(list(minibatch_orders(len(samples.obs), config, self._generator)))
        self._threads.run(
            self._learn,
            orders.numpy(),
            shards(orders.shape[2], SHARD_SAMPLES),
            samples,
            policy_arrays(self._policy),
            self.optimizer.mean.numpy(),
            self.optimizer.square.numpy(),
            self.optimizer.num_steps,
            self._terms(coefficients),
            config.normalize_advantages == "minibatch",
            self._policy.num_actor_parameters,
            results,
        )
        num_steps = int(results.num_steps[0])
        self.optimizer.num_steps += num_steps
        results.num_steps[0] = 0
        return update_metrics(
            torch.from_numpy(results.sums[:num_steps]).mean(0) / orders.shape[2],
            results.norms[:num_steps].mean(),
            torch.from_numpy(samples.values),
            torch.from_numpy(samples.returns),
            coefficients,
        )

    def _terms(self, coefficients: Coefficients) -> Terms:
        config = self._config
        terms = (
            coefficients.learning_rate, coefficients.clip_coef, coefficients.entropy_coef,
            config.value_coef, config.value_clip or math.inf, config.max_grad_norm,
            config.target_kl or math.inf,
        )  # fmt: skip
        return Terms(*map(float32, terms))

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on, here or on a GPU."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "generator": self._generator.get_state(),
            "num_orders": self._num_orders,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self._num_orders = state.get("num_orders", 0)
        set_generator(self._generator, state, self._seed, self._num_orders)


actor_gradients: Any = None  # bound for each distribution by `compile_learn`


@cache
def compile_learn(head: Head) -> Callable[..., None]:
    """The loop over one distribution's updates."""
    actor = specialised(
        actor_gradients_template,
        head.label,
        log_prob_and_entropy=head.log_prob_and_entropy,
        head_backward=head.backward,
    )
    return specialised(learn_template, head.label, parallel=True, actor_gradients=actor)


def learn_template(
    orders, shards, samples, policy, mean, square, num_steps, terms, normalize_minibatch,
    num_actor_parameters, results,
):  # fmt: skip
    """Make an optimizer step for every minibatch of `orders` [epochs, minibatches, size]."""
    num_epochs, num_minibatches, size = orders.shape
    num_parameters = len(policy.parameters)
    num_gradients = policy.num_gradients + policy.num_log_stds
    gradients = np.empty((len(shards), num_gradients), np.float32)
    total = np.empty(num_parameters, np.float32)
    shard_sums = np.empty((len(shards), NUM_SUMS))
    for epoch in range(num_epochs):
        epoch_kl = 0.0
        for minibatch in range(num_minibatches):
            index = orders[epoch, minibatch]
            center, scale = 0.0, 1.0
            if normalize_minibatch:
                center, scale = center_and_scale(samples.advantages, index)
            pack(policy.parameters, policy.actor, policy.panels)
            pack(policy.parameters, policy.critic, policy.panels)
            for shard in prange(len(shards)):
                clear(gradients[shard], shard_sums[shard])
                part = index[shards[shard, 0] : shards[shard, 1]]
                actor_gradients(
                    part, samples, policy, terms, float32(center), float32(scale),
                    float32(1.0 / size), gradients[shard], shard_sums[shard],
                )  # fmt: skip
                critic_gradients(
                    part, samples, policy, terms, float32(1.0 / size),
                    gradients[shard], shard_sums[shard],
                )  # fmt: skip
            if len(shards) * num_gradients < WORTH_SHARING:
                add_up(gradients, 0, num_gradients)
            else:
                for block in prange((num_gradients + BLOCK - 1) // BLOCK):
                    add_up(gradients, block * BLOCK, min((block + 1) * BLOCK, num_gradients))
            unpack_gradients(gradients[0], policy.actor, total)
            unpack_gradients(gradients[0], policy.critic, total)
            unpack_log_std_gradients(gradients[0], policy, total)

            step = results.num_steps[0]
            add_up_sums(shard_sums, results.sums[step])
            epoch_kl += results.sums[step, KL]
            norms = results.norms[step]
            norms[0] = scale_down(total[:num_actor_parameters], terms.max_grad_norm)
            norms[1] = scale_down(total[num_actor_parameters:], terms.max_grad_norm)
            num_steps += 1
            adam_step(policy.parameters, total, mean, square, num_steps, terms.learning_rate)
            limit_log_stds(policy)
            results.num_steps[0] = step + 1
        if epoch_kl / (num_minibatches * size) > terms.target_kl:
            break
