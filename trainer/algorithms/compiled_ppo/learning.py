"""A whole PPO update as one compiled loop: epochs, minibatches, gradients, optimizer.

`algorithms/ppo.py` is the same in PyTorch. A minibatch is shared out in shards of fixed sizes whose
gradients are summed in a fixed order, so the number of threads changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy import float32
from numpy.typing import NDArray
from torch import Tensor

from ...jit.compiling import compiled, specialised
from ...machine.threads import Threads, num_shards
from ...memory.rollout import Rollout
from ...memory.samplers import next_minibatches
from ...policies.actor_critic import ActorCritic
from ...policies.compiled.heads import Head, head_of
from ...policies.compiled.policy_arrays import policy_arrays
from ...returns.gae import explained_variance
from ..algorithm import Metrics
from ..on_policy import origin_of
from ..ppo import LOSS_METRICS, PPO, Coefficients
from .gradients import KL, NUM_SUMS, Samples, Terms
from .minibatches import (
    SHARD_SAMPLES,
    Moments,
    ShardSums,
    compile_gradient,
    minibatch_gradient,
    take_step,
)


def gae_template(
    rewards, values, next_values, terminated, truncated, gamma, gae_lambda, advantages, returns
):
    """`returns.gae`, written to `advantages` and `returns`: all [T, N] float32, endings bool."""
    steps, num_envs = rewards.shape
    following = np.zeros(num_envs, np.float32)
    for t in range(steps - 1, -1, -1):
        for n in range(num_envs):
            bootstrap = float32(0.0) if terminated[t, n] else gamma * next_values[t, n]
            delta = rewards[t, n] + bootstrap - values[t, n]
            done = terminated[t, n] or truncated[t, n]
            decay = float32(0.0) if done else gamma * gae_lambda
            following[n] = delta + decay * following[n]
            advantages[t, n] = following[n]
            returns[t, n] = following[n] + values[t, n]


gae_loop = specialised(gae_template, "any")


@compiled
def center_and_scale(advantages, index):
    """Mean, and one over the standard deviation, of advantages[index], both float64; 0 and 1 for a
    single one. `advantages` are float32, `index` is [B] int64.
    """
    size = len(index)
    if size < 2:
        return 0.0, 1.0
    total = 0.0
    for i in index:
        total += advantages[i]
    mean = total / size
    squares = 0.0
    for i in index:
        squares += (advantages[i] - mean) ** 2
    return mean, 1.0 / (math.sqrt(squares / (size - 1)) + 1e-8)


def normalize_template(advantages):
    """Give `advantages` [B] float32 mean 0 and deviation 1, in place."""
    center, scale = center_and_scale(advantages, np.arange(len(advantages)))
    for i in range(len(advantages)):
        advantages[i] = (advantages[i] - center) * scale


normalize_all = specialised(normalize_template, "any")


Array = NDArray[Any]


class Results(NamedTuple):
    """Results of an update: loss sums [steps, 5], gradient norms [steps, 2], the number of
    optimizer steps [1], and the last step's gradient [P].
    """

    sums: Array
    norms: Array
    num_steps: Array
    gradient: Array


class CompiledUpdate:
    """Runs the updates of a `PPO` on all cores, without Python between the optimizer steps."""

    def __init__(self, ppo: PPO, threads: Threads) -> None:
        assert isinstance(ppo.policy, ActorCritic)
        self.ppo, self.policy, self.section = ppo, ppo.policy, ppo.section
        self.optimizer, self._threads = ppo.optimizer, threads
        self._learn_compiled = compile_learn(head_of(self.policy.distribution))
        self.moments = Moments(
            self.optimizer.mean.numpy(),
            self.optimizer.square.numpy(),
            self.policy.num_actor_parameters,
        )
        most_steps = self.section.num_epochs * self.section.num_minibatches
        gradient = torch.zeros_like(self.policy.flat_parameters)
        self.results = Results(
            np.zeros((most_steps, NUM_SUMS)),
            np.zeros((most_steps, 2)),
            np.zeros(1, np.int64),
            gradient.numpy(),
        )
        self.optimizer.gradient = gradient

    @property
    def work_done(self) -> int:
        return self.optimizer.num_steps + int(self.results.num_steps[0])

    @property
    def loops(self) -> tuple[object, ...]:
        return (gae_loop, *self.step_loops)

    @property
    def step_loops(self) -> tuple[object, ...]:
        """The compiled loops that `make_steps` calls."""
        by_rollout = self.section.normalize_advantages == "rollout"
        return (*((normalize_all,) if by_rollout else ()), self._learn_compiled)

    def update(self, rollout: Rollout, rewards: Tensor, coefficients: Coefficients) -> Metrics:
        size, explained = self.make_steps(
            rollout, self._samples(rollout, rewards), self._terms(coefficients)
        )
        results = self.results
        num_steps = int(results.num_steps[0])
        num_skipped = num_steps - int(np.isfinite(results.norms[:num_steps]).all(1).sum())
        self.optimizer.age += num_steps - num_skipped
        self.ppo.finite_updates.skip(num_skipped, partial(origin_of, rollout))
        results.num_steps[0] = 0
        mean_losses = torch.from_numpy(results.sums[:num_steps]).mean(0) / size
        return {
            **dict(zip(LOSS_METRICS, mean_losses, strict=True)),
            "value/explained_variance": explained,
            "optimizer/grad_norm": results.norms[:num_steps].mean(),
        }

    def make_steps(self, rollout: Rollout, samples: Samples, terms: Terms) -> tuple[int, Tensor]:
        """Move the policy, and fill in `results`. Returns the number of samples of a minibatch and
        the explained variance.
        """
        section, optimizer = self.section, self.optimizer
        if section.normalize_advantages == "rollout":
            normalize_all(samples.advantages)
        orders = self.next_orders(len(samples.obs))
        policy, size = policy_arrays(self.policy), orders.shape[2]
        self._threads.run(
            self._learn_compiled,
            orders.numpy(),
            num_shards(size, SHARD_SAMPLES),
            samples,
            policy,
            self.moments,
            optimizer.num_steps,
            terms,
            section.normalize_advantages == "minibatch",
            ShardSums.of(size, policy),
            self.results,
        )
        return size, explained_variance(*map(torch.from_numpy, (samples.returns, samples.values)))

    def next_orders(self, num_samples: int) -> Tensor:
        """The samples of the minibatches of all epochs [epochs, minibatches, size], int64."""
        section = self.section
        return torch.stack(
            [
                next_minibatches(self.ppo.orders, num_samples, section.num_minibatches)
                for _ in range(section.num_epochs)
            ]
        )

    def _samples(self, rollout: Rollout, rewards: Tensor) -> Samples:
        """The samples of a rollout that count, with their advantages before normalisation."""
        section = self.section
        advantages, returns = np.empty((2, *rewards.shape), np.float32)
        gae_loop(
            rewards.numpy(),
            rollout.values.numpy(),
            rollout.next_values.numpy(),
            rollout.terminated.numpy(),
            rollout.truncated.numpy(),
            float32(section.gamma),
            float32(section.gae_lambda),
            advantages,
            returns,
        )
        tensors = (
            rollout.obs[:-1],
            rollout.actions,
            rollout.log_probs,
            torch.from_numpy(advantages),
            torch.from_numpy(returns),
            rollout.values,
        )
        return Samples(*(rollout.valid_of(x).numpy() for x in tensors))

    def _terms(self, coefficients: Coefficients) -> Terms:
        section = self.section
        terms = (
            coefficients.learning_rate,
            section.clip_coef,
            coefficients.entropy_coef,
            section.value_coef,
            section.value_clip or math.inf,
            section.max_grad_norm,
            section.target_kl or math.inf,
        )
        return Terms(*map(float32, terms))


@cache
def compile_learn(head: Head) -> Callable[..., None]:
    """The loop over one distribution's updates."""
    return specialised(learn_template, head.label, minibatch_gradient=compile_gradient(head))


def learn_template(
    orders,
    num_shards,
    samples,
    policy,
    moments,
    num_steps,
    terms,
    normalize_minibatch,
    shard_sums,
    results,
):
    """Make an optimizer step for every minibatch of `orders` [epochs, minibatches, size]."""
    num_epochs, num_minibatches, size = orders.shape
    total = results.gradient
    for epoch in range(num_epochs):
        epoch_kl = 0.0
        for minibatch in range(num_minibatches):
            index = orders[epoch, minibatch]
            center, scale = 0.0, 1.0
            if normalize_minibatch:
                center, scale = center_and_scale(samples.advantages, index)
            step = results.num_steps[0]
            minibatch_gradient(
                index,
                num_shards,
                samples,
                policy,
                terms,
                center,
                scale,
                1.0 / size,
                shard_sums,
                total,
                results.sums[step],
            )
            epoch_kl += results.sums[step, KL]
            norms = results.norms[step]
            num_steps += take_step(policy, total, moments, num_steps + 1, terms, norms)
            results.num_steps[0] = step + 1
        if epoch_kl / (num_minibatches * size) > terms.target_kl:
            break
