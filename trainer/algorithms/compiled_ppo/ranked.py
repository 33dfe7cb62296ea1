"""A PPO update of several ranks: compiled between the sums that they make together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...distributed.reductions import moments_of_sums, normalize_advantages
from ...distributed.sampler import local_places
from ...jit.compiling import compiled, specialised
from ...machine.threads import Threads
from ...memory.rollout import Rollout
from ...policies.compiled.heads import Head, head_of
from ...policies.compiled.policy_arrays import policy_arrays
from ...returns.gae import EPSILON, explained
from ..ppo import PPO
from .gradients import KL, NUM_SUMS, Samples, Terms
from .learning import CompiledUpdate
from .minibatches import SHARD_SAMPLES, ShardSums, compile_gradient, minibatch_gradient, take_step

Array = NDArray[Any]


class Drawn(NamedTuple):
    """Minibatches of all ranks, [epochs, minibatches, ...], of `size` samples: where the samples
    are that this rank has, `counts` of them first in `own` [..., size], in how many shards they are
    learned from, and by which `center` and `scale` advantages are normalised over all ranks.
    """

    size: int
    own: Array
    counts: Array
    num_shards: Array
    center: Array
    scale: Array


class RankedUpdate(CompiledUpdate):
    """Learns like `CompiledUpdate` from the samples of all ranks; every rank has some of them.

    Each minibatch needs one message: its gradient, already divided by the number of samples in all
    ranks, and its loss sums. All ranks make the same step from the sum of the messages.
    """

    def __init__(self, ppo: PPO, threads: Threads) -> None:
        super().__init__(ppo, threads)
        self.ranks = ppo.ranks
        num_parameters = len(self.policy.flat_parameters)
        self._message = torch.zeros(num_parameters + NUM_SUMS)
        self.optimizer.gradient = self._message[:num_parameters]
        self._next_message = compile_next_message(head_of(self.policy.distribution))

    @property
    def step_loops(self) -> tuple[object, ...]:
        return own_samples, moment_sums, self._next_message

    def make_steps(self, rollout: Rollout, samples: Samples, terms: Terms) -> tuple[int, Tensor]:
        if self.section.normalize_advantages == "rollout":
            advantages = torch.from_numpy(samples.advantages)
            advantages.copy_(normalize_advantages(self.ranks, advantages))
        drawn, explained_variance = self._draw(rollout, samples)
        self._threads.run(self._learn_from, drawn, samples, terms)
        return drawn.size, explained_variance

    def _draw(self, rollout: Rollout, samples: Samples) -> tuple[Drawn, Tensor]:
        """The minibatches of an update. One sum over all ranks tells how advantages are normalised
        in each, and how much of the returns' variance the values explain, which is given as well.
        """
        num_samples, places = local_places(rollout, self.ranks)
        orders = self.next_orders(num_samples)
        own, counts = np.empty(orders.shape, np.int64), np.empty(orders.shape[:2], np.int64)
        own_samples(orders.numpy(), places.numpy(), own, counts)
        normalizes = self.section.normalize_advantages == "minibatch"
        sums = torch.zeros(2 + counts.size * normalizes, 3, dtype=torch.float64)
        moment_sums(samples, own, counts, sums.numpy())
        moments = moments_of_sums(self.ranks, sums)
        variance, left = moments[:2, 2].square()
        center, scale = np.zeros(counts.shape), np.ones(counts.shape)
        if normalizes and orders.shape[2] > 1:  # a single one is left as it is
            center[:] = moments[2:, 1].view(counts.shape)
            scale[:] = (1 / (moments[2:, 2] + EPSILON)).view(counts.shape)
        num_shards = np.rint(counts / SHARD_SAMPLES).clip(1).astype(np.int64)
        drawn = Drawn(orders.shape[2], own, counts, num_shards, center, scale)
        return drawn, explained(variance, left)

    def _learn_from(self, drawn: Drawn, samples: Samples, terms: Terms) -> None:
        policy, message = policy_arrays(self.policy), self._message.numpy()
        arguments = (
            np.zeros(2, np.int64),
            drawn,
            samples,
            policy,
            self.moments,
            self.optimizer.num_steps,
            terms,
            ShardSums.of(int(drawn.counts.max()), policy),
            message,
            self.results,
        )
        while self._next_message(*arguments):
            self.ranks.sum(self._message)


@cache
def compile_next_message(head: Head) -> Callable[..., bool]:
    """The loop between two sums over the ranks, for one distribution."""
    gradient = compile_gradient(head)
    return specialised(next_message_template, head.label, minibatch_gradient=gradient)


def next_message_template(
    counts, drawn, samples, policy, moments, num_steps, terms, shard_sums, message, results
):
    """Make the optimizer step that `message` [P + 5] float32 leads to, which all ranks have added
    up, unless it is the first; then write that of the next minibatch. Returns whether there is one.
    `counts` [2] int64 are the messages written so far and the steps that moved something,
    `num_steps` all such steps before this update.
    """
    num_epochs, num_minibatches = drawn.counts.shape
    gradient, sums = message[: len(policy.parameters)], message[len(policy.parameters) :]
    number = counts[0]
    if number > 0:
        results.sums[number - 1, :] = sums
        norms = results.norms[number - 1]
        counts[1] += take_step(policy, gradient, moments, num_steps + counts[1] + 1, terms, norms)
        results.num_steps[0] = number
    epoch, minibatch = number // num_minibatches, number % num_minibatches
    if number > 0 and minibatch == 0:
        epoch_kl = 0.0
        for step in range(number - num_minibatches, number):
            epoch_kl += results.sums[step, KL]
        if epoch == num_epochs or epoch_kl / (num_minibatches * drawn.size) > terms.target_kl:
            return False
    minibatch_gradient(
        drawn.own[epoch, minibatch, : drawn.counts[epoch, minibatch]],
        drawn.num_shards[epoch, minibatch],
        samples,
        policy,
        terms,
        drawn.center[epoch, minibatch],
        drawn.scale[epoch, minibatch],
        1.0 / drawn.size,
        shard_sums,
        gradient,
        results.sums[number],
    )
    sums[:] = results.sums[number]
    counts[0] = number + 1
    return True


def own_samples_template(orders, places, own, counts):
    """Write to `own` [E, M, S] int64 where the samples `orders` [E, M, S] of all ranks are here, by
    `places` [B] int64, where -1 is elsewhere, and to `counts` [E, M] int64 how many are here.
    """
    num_epochs, num_minibatches, size = orders.shape
    for epoch in range(num_epochs):
        for minibatch in range(num_minibatches):
            count = 0
            for i in range(size):
                place = places[orders[epoch, minibatch, i]]
                # Without a branch, which processors would often predict wrongly.
                own[epoch, minibatch, count] = place
                count += place >= 0
            counts[epoch, minibatch] = count


own_samples = specialised(own_samples_template, "any")


def moment_sums_template(samples, own, counts, sums):
    """Write count, sum and sum of squares [3] float64 of the returns, of what the values leave of
    them, and where `sums` [rows, 3] has room of the advantages of each minibatch, in their order.
    """
    sums[:] = 0.0
    for sample in range(len(samples.returns)):
        add_to(sums[0], samples.returns[sample])
        add_to(sums[1], samples.returns[sample] - samples.values[sample])
    if len(sums) > 2:
        num_minibatches = own.shape[1]
        for epoch in range(len(own)):
            for minibatch in range(num_minibatches):
                row = sums[2 + epoch * num_minibatches + minibatch]
                for i in range(counts[epoch, minibatch]):
                    add_to(row, samples.advantages[own[epoch, minibatch, i]])


@compiled
def add_to(row, x):
    row[0] += 1.0
    row[1] += x
    row[2] += np.float64(x) * x


moment_sums = specialised(moment_sums_template, "any")
