"""A whole PPO update as one compiled loop: epochs, minibatches, gradients, optimizer.

`algorithms/ppo.py` is the same in PyTorch. A minibatch is shared out in shards of fixed sizes whose
gradients are summed in a fixed order, so the number of threads changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import prange
from numpy import float32
from numpy.typing import NDArray
from torch import Tensor

from ..algorithms.algorithm import Metrics
from ..algorithms.minibatches import next_minibatches
from ..algorithms.ppo import PPO, Coefficients, update_metrics
from ..algorithms.ppo_loss import LOSS_METRICS
from ..compiling import specialised
from ..config import TrainConfig
from ..networks.actor_critic import ActorCritic
from ..returns.variances import explained_variance
from ..rollout import Rollout
from ..run.threads import Threads, shards
from .advantages import center_and_scale, gae_loop, normalize_all
from .gradients import (
    KL,
    NUM_SUMS,
    Samples,
    Terms,
    actor_gradients,
    critic_gradients,
)
from .heads import Head, head_of
from .log_stds import limit_log_stds, unpack_log_std_gradients
from .networks import CHUNK, pack, unpack_gradients
from .normalizing import discount
from .optimizing import adam_step, add_up, add_up_sums, clear, scale_down
from .policy_arrays import policy_arrays

Array = NDArray[Any]

SHARD_SAMPLES = 4 * CHUNK
BLOCK = 1024  # parameters that one thread sums up at a time
WORTH_SHARING = 2**17  # additions: fewer are made before other threads have begun


class Results(NamedTuple):
    """What an update fills in: loss sums [steps, 5], gradient norms [steps, 2], how many optimizer
    steps there were [1], and the last one's gradient [P].
    """

    sums: Array
    norms: Array
    num_steps: Array
    gradient: Array


class CompiledPPO(PPO):
    """Learns as `PPO` does, on all cores and without Python between the steps."""

    uses_threads = True
    policy: ActorCritic

    def __init__(
        self, config: TrainConfig, policy: ActorCritic, *, seed: int, threads: Threads
    ) -> None:
        super().__init__(config, policy, seed=seed)
        self._threads = threads
        self._learn_compiled = compile_learn(head_of(policy.distribution))
        most_steps = self.section.num_epochs * self.section.num_minibatches
        gradient = torch.zeros_like(policy.flat_parameters)
        self._results = Results(
            np.zeros((most_steps, NUM_SUMS)), np.zeros((most_steps, 2)), np.zeros(1, np.int64),
            gradient.numpy(),
        )  # fmt: skip
        self.optimizer.gradient = gradient

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """As it is: these loops have no use for torch.compile."""
        return function

    @property
    def work_done(self) -> int:
        """Steps of the optimizer since the start, with those of the update under way."""
        return self.optimizer.num_steps + int(self._results.num_steps[0])

    @property
    def loops(self) -> tuple[Any, ...]:
        """Those that are called, in the order of their first calls."""
        by_rollout = self.section.normalize_advantages == "rollout"
        return (
            *((discount,) if self.reward_normalizer else ()),
            gae_loop,
            *((normalize_all,) if by_rollout else ()),
            self._learn_compiled,
        )

    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        section, results, optimizer = self.section, self._results, self.optimizer
        coefficients = Coefficients.at(section, progress_fraction)
        advantages, returns = np.empty((2, *rewards.shape), np.float32)
        gae_loop(
            rewards.numpy(), rollout.values.numpy(), rollout.next_values.numpy(),
            rollout.terminated.numpy(), rollout.truncated.numpy(),
            float32(section.gamma), float32(section.gae_lambda), advantages, returns,
        )  # fmt: skip
        tensors = (
            rollout.obs[:-1], rollout.actions, rollout.log_probs, torch.from_numpy(advantages),
            torch.from_numpy(returns), rollout.values,
        )  # fmt: skip
        samples = Samples(*(rollout.valid_of(x).numpy() for x in tensors))
        if section.normalize_advantages == "rollout":
            normalize_all(samples.advantages)
        orders = torch.stack([
            next_minibatches(self.orders, len(samples.obs), section.num_minibatches)
            for _ in range(section.num_epochs)
        ])  # fmt: skip
        self._threads.run(
            self._learn_compiled, orders.numpy(), shards(orders.shape[2], SHARD_SAMPLES), samples,
            policy_arrays(self.policy), optimizer.mean.numpy(), optimizer.square.numpy(),
            optimizer.num_steps, self._terms(coefficients),
            section.normalize_advantages == "minibatch", self.policy.num_actor_parameters, results,
        )  # fmt: skip
        num_steps = int(results.num_steps[0])
        optimizer.age += num_steps
        results.num_steps[0] = 0
        mean_losses = torch.from_numpy(results.sums[:num_steps]).mean(0) / orders.shape[2]
        return update_metrics(
            dict(zip(LOSS_METRICS, mean_losses, strict=True)),
            results.norms[:num_steps].mean(),
            explained_variance(*map(torch.from_numpy, (samples.returns, samples.values))),
            coefficients,
        )

    def _terms(self, coefficients: Coefficients) -> Terms:
        section = self.section
        terms = (
            coefficients.learning_rate, coefficients.clip_coef, coefficients.entropy_coef,
            section.value_coef, section.value_clip or math.inf, section.max_grad_norm,
            section.target_kl or math.inf,
        )  # fmt: skip
        return Terms(*map(float32, terms))


@cache
def compile_learn(head: Head) -> Callable[..., None]:
    """The loop over one distribution's updates."""
    actor = specialised(
        actor_gradients,
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
    num_gradients = policy.num_gradients + policy.num_log_stds
    gradients = np.empty((len(shards), num_gradients), np.float32)
    total = results.gradient
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
