"""A PPO update of several ranks: compiled between the sums that they make together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiling import compiled, specialised
from ..ranks.sharing import places_here
from ..returns.variances import EPSILON, explained
from ..rollout import Rollout
from ..run.threads import num_shards
from .gradients import KL, Samples, Terms
from .heads import head_of
from .learning import CompiledPPO
from .minibatches import SHARD_SAMPLES, ShardSums, compile_gradient, take_step
from .policy_arrays import policy_arrays

if TYPE_CHECKING:
    from ..ranks.several import Several

Array = NDArray[Any]


class Drawn(NamedTuple):
    """Minibatches of all ranks, [epochs, minibatches, ...], of `size` samples: where the samples
    are that this rank has, `counts` of them first in `own` [..., size], and by which `center` and
    `scale` advantages are normalised over all ranks.
    """

    size: int
    own: Array
    counts: Array
    center: Array
    scale: Array


class RankedPPO(CompiledPPO):
    """Learns as `CompiledPPO` with the samples of all ranks does; every rank has some of them.

    A minibatch is one message: its gradient, already divided by the number of samples in all ranks,
    and its loss sums. All make the same step by it.
    """

    ranks: Several

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        num_parameters = len(self.policy.flat_parameters)
        self._message = torch.zeros(num_parameters + self.results.sums.shape[1])
        self.optimizer.gradient = self._message[:num_parameters]
        self.results = self.results._replace(gradient=self.optimizer.gradient.numpy())
        self._gradient_of_minibatch = compile_gradient(head_of(self.policy.distribution))

    @property
    def step_loops(self) -> tuple[Any, ...]:
        return own_samples, moment_sums, self._gradient_of_minibatch, take_step

    def make_steps(self, rollout: Rollout, samples: Samples, terms: Terms) -> tuple[int, Tensor]:
        if self.section.normalize_advantages == "rollout":
            advantages = torch.from_numpy(samples.advantages)
            advantages.copy_(self.ranks.normalized(advantages))
        drawn, explained_variance = self._draw(rollout, samples)
        self._threads.run(self._learn_from, drawn, samples, terms)
        return drawn.size, explained_variance

    def _draw(self, rollout: Rollout, samples: Samples) -> tuple[Drawn, Tensor]:
        """The minibatches of an update. One sum over all ranks tells how advantages are normalised
        in each, and how much of the returns' variance the values explain, which is given as well.
        """
        num_samples, places = places_here(rollout, self.ranks)
        orders = self.next_orders(num_samples)
        index, counts = np.empty(orders.shape, np.int64), np.empty(orders.shape[:2], np.int64)
        own_samples(orders.numpy(), places.numpy(), index, counts)
        normalizes = self.section.normalize_advantages == "minibatch"
        sums = torch.zeros(2 + counts.size * normalizes, 3, dtype=torch.float64)
        moment_sums(samples, index, counts, sums.numpy())
        variance, left, *_ = moments = self.ranks.moments_of(sums)
        center, scale = np.zeros(counts.shape), np.ones(counts.shape)
        if normalizes and orders.shape[2] > 1:  # a single one is left as it is
            center[:] = moments[2:, 1].view(counts.shape)
            scale[:] = (1 / (moments[2:, 2] + EPSILON)).view(counts.shape)
        drawn = Drawn(orders.shape[2], index, counts, center, scale)
        return drawn, explained(variance[2].square(), left[2].square())

    def _learn_from(self, drawn: Drawn, samples: Samples, terms: Terms) -> None:
        results, policy = self.results, policy_arrays(self.policy)
        shard_sums = ShardSums.of(int(drawn.counts.max()), policy)
        before, size = self.optimizer.num_steps, drawn.size
        loss_sums = self._message[len(results.gradient) :].numpy()
        for epoch, minibatches in enumerate(drawn.own):
            epoch_kl = 0.0
            for number, places in enumerate(minibatches):
                index = places[: drawn.counts[epoch, number]]
                step = results.num_steps[0]
                sums = results.sums[step]
                self._gradient_of_minibatch(
                    index, num_shards(len(index), SHARD_SAMPLES), samples, policy, terms,
                    drawn.center[epoch, number], drawn.scale[epoch, number], 1.0 / size,
                    shard_sums, results.gradient, sums,
                )  # fmt: skip
                loss_sums[:] = sums
                self.ranks.add_up(self._message)
                sums[:] = loss_sums
                epoch_kl += sums[KL]
                take_step(
                    policy, results.gradient, self.moments, before + step + 1, terms,
                    results.norms[step],
                )  # fmt: skip
                results.num_steps[0] = step + 1
            if epoch_kl / (len(minibatches) * size) > terms.target_kl:
                break


def own_samples_template(orders, places, index, counts):
    """Write to `index` [E, M, S] int64 where the samples `orders` [E, M, S] of all ranks are here,
    by `places` [B] int64, and to `counts` [E, M] int64 how many of each minibatch: -1 is elsewhere.
    """
    num_epochs, num_minibatches, size = orders.shape
    for epoch in range(num_epochs):
        for minibatch in range(num_minibatches):
            count = 0
            for i in range(size):
                place = places[orders[epoch, minibatch, i]]
                if place >= 0:
                    index[epoch, minibatch, count] = place
                    count += 1
            counts[epoch, minibatch] = count


own_samples = specialised(own_samples_template, "any")


def moment_sums_template(samples, index, counts, sums):
    """Write count, sum and sum of squares [3] float64 of the returns, of what the values leave of
    them, and where `sums` [rows, 3] has room of the advantages of each minibatch, in their order.
    """
    sums[:] = 0.0
    for sample in range(len(samples.returns)):
        add_to(sums[0], samples.returns[sample])
        add_to(sums[1], samples.returns[sample] - samples.values[sample])
    if len(sums) > 2:
        num_minibatches = index.shape[1]
        for epoch in range(len(index)):
            for minibatch in range(num_minibatches):
                row = sums[2 + epoch * num_minibatches + minibatch]
                for i in range(counts[epoch, minibatch]):
                    add_to(row, samples.advantages[index[epoch, minibatch, i]])


@compiled
def add_to(row, x):
    row[0] += 1.0
    row[1] += x
    row[2] += np.float64(x) * x


moment_sums = specialised(moment_sums_template, "any")
