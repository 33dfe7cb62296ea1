"""Which parts of a rollout make a minibatch: samples, or rows of steps with a recurrent policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from ..machine.values import State
from ..policies.draws import FOR_ROWS, Orders, make_draws, side_seed
from ..returns.gae import normalized
from .rollout import Rollout

IMPORTANCE_EXPONENT = 0.4  # beta at the start of a run

Drawn = Iterator[tuple[Tensor, Tensor | None]]


def importance_exponent(progress_fraction: Any) -> Any:
    """How far weights undo priorities: beta, which grows to 1 by the end of the run."""
    return IMPORTANCE_EXPONENT + (1 - IMPORTANCE_EXPONENT) * progress_fraction


def next_minibatches(orders: Orders, num_samples: int, num_minibatches: int) -> Tensor:
    """The samples in their next random order as equal minibatches [minibatches, size], int64.

    Where dead transitions leave a number that does not divide, the rest is left out.
    """
    num_minibatches = min(num_minibatches, num_samples)
    used = num_samples - num_samples % num_minibatches
    return orders.next(num_samples)[:used].view(num_minibatches, -1)


def first_parts(num_parts: int, num_minibatches: int, device: torch.device) -> Tensor:
    """A minibatch of the first parts [size], int64, without random numbers."""
    return torch.arange(num_parts // min(num_minibatches, num_parts), device=device)


class Parts(NamedTuple):
    """How many there are to draw from, and where that counts their advantages [S], not negative."""

    num_parts: int
    part_advantages: Any = None


class Sampler(Protocol):
    """Minibatches of an epoch."""

    def begin(self, rollout: Rollout) -> None:
        """The epochs that follow are of this rollout."""

    def epoch(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> Drawn:
        """The parts of each minibatch [size], int64, and their weights [size] in the policy's loss;
        None: all 1.
        """

    def normalized(self, advantages: Tensor, among: Tensor) -> Tensor:
        """Advantages of the minibatch drawn last, of mean 0 and deviation 1 over those `among`."""

    def state_dict(self) -> State:
        """The state that the next epoch depends on, except for the orders, by name."""

    def load_state_dict(self, state: State) -> None: ...


def make_sampler(
    section: Any, orders: Orders, num_parts: int, seed: int, device: torch.device, is_inline: bool
) -> Sampler:
    """The sampler that `section` asks for, of at most `num_parts`; shuffled if all priorities are
    equal.
    """
    if section.sampler == "sequential":
        return Sequential(device)
    if section.sampler == "prioritised" and section.priority_exponent:
        return Prioritised(section, num_parts, seed, device, is_inline)
    return Shuffled(orders)


class LocalSampler:
    """A sampler that draws from the parts of one process, and by default keeps no state."""

    def begin(self, rollout: Rollout) -> None:
        """There is nothing to find out first."""

    def normalized(self, advantages: Tensor, among: Tensor) -> Tensor:
        return normalized(advantages, among)

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, state: State) -> None:
        """There is nothing to load."""


class Shuffled(LocalSampler):
    """Every part once an epoch, in a new random order each time."""

    def __init__(self, orders: Orders) -> None:
        self._orders = orders

    def epoch(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> Drawn:
        for index in next_minibatches(self._orders, batch.num_parts, num_minibatches):
            yield index, None


class Sequential(LocalSampler):
    """Every part once an epoch, in the order in which they lie."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def epoch(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> Drawn:
        num_parts = batch.num_parts
        num_minibatches = min(num_minibatches, num_parts)
        size = num_parts // num_minibatches
        numbers = torch.arange(num_minibatches * size, device=self._device)
        for index in numbers.view(num_minibatches, size):
            yield index, None


class Prioritised(LocalSampler):
    """Parts with larger advantages more often: p_i = (sum_t |A_it|)^alpha.

    A minibatch has no part twice; minibatches are drawn independently, so that of K an epoch has
    not all parts. Weights (S P_i)^-beta, P_i = p_i / sum p, of S parts, undo that in the policy's
    loss, all the way once beta has grown to 1 at the run's end.
    """

    def __init__(
        self, section: Any, num_parts: int, seed: int, device: torch.device, is_inline: bool
    ) -> None:
        self._alpha = section.priority_exponent
        self._num_parts = num_parts
        shape = (section.num_minibatches, num_parts)
        own_seed = side_seed(seed, FOR_ROWS)
        self._draws = make_draws("uniform", shape, own_seed, device, is_inline)

    def epoch(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> Drawn:
        num_parts = batch.num_parts
        num_minibatches = min(num_minibatches, num_parts)
        probs = probabilities(batch.part_advantages, self._alpha)
        beta = importance_exponent(progress_fraction)
        weights = (num_parts * probs).pow(-beta).masked_fill(probs == 0, 0.0)
        uniform = self._draws.next()[:num_minibatches, :num_parts]
        for index in without_replacement(probs, uniform, num_parts // num_minibatches):
            yield index, weights[index]

    def state_dict(self) -> State:
        return {"sampler": self._draws.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self._draws.load_state_dict(state["sampler"])


def probabilities(advantages: Tensor, alpha: float) -> Tensor:
    """P_i = a_i^alpha / sum a^alpha of a_i [S], not negative; all alike where all are 0."""
    powers = advantages.double().pow(alpha)
    total = powers.sum()
    alike = torch.full_like(powers, 1 / len(powers))
    return torch.where(total > 0, powers / total, alike).to(advantages.dtype)


def without_replacement(probs: Tensor, uniform: Tensor, size: int) -> Tensor:
    """`size` different of S parts for each row of `uniform` [K, S] in [0, 1): [K, size], int64.

    They are those with the largest log P_i - log(-log(1 - u_i)), which has the probabilities of
    drawing one after the other from those that are left.
    Source: Kool et al. 2019, arXiv:1903.06059, section 2.
    """
    gumbel = -torch.log(-torch.log1p(-uniform.clamp(1e-12, 1 - 1e-7)))
    found: Tensor = (probs.log() + gumbel).topk(size, -1).indices
    return found
