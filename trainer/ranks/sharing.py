"""Minibatches of the samples of all ranks, of which each takes what it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..algorithms.samplers import Drawn, Parts, Prioritised, Sampler
from ..returns.variances import EPSILON
from ..rollout import Rollout

if TYPE_CHECKING:
    from .several import Several
    from .single import Ranks


class Sharing:
    """Draws minibatches from the parts of all ranks as one process would, in all ranks the same,
    and gives those of each that are here. One may have none.

    Where advantages are normalised over each minibatch, one sum over all ranks tells means and
    deviations of as many minibatches as may be drawn ahead: of all, unless an update can end early
    or changes advantages on its way.
    """

    def __init__(self, sampler: Sampler, ranks: Several, section: Any, normalizes: bool) -> None:
        self._sampler, self._ranks = sampler, ranks
        recomputes = getattr(section, "recompute_advantages", "never")
        self._foresees = normalizes and recomputes != "minibatch"
        ends_early = bool(getattr(section, "target_kl", None))
        self._at_once = 1 if ends_early or recomputes != "never" else section.num_epochs
        self._by_advantages = isinstance(sampler, Prioritised)
        self._drawn: list[list[tuple[Tensor, Tensor | None]]] = []
        self._moments: Iterator[Tensor] = iter(())
        self._newest: Tensor | None = None

    def begin(self, rollout: Rollout) -> None:
        """Find out which of all parts are here."""
        self._num_parts, self._places = places_here(rollout, self._ranks)
        self._drawn = []

    def epoch(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> Drawn:
        if not self._drawn:
            self._draw(batch, num_minibatches, progress_fraction)
        for index, weights in self._drawn.pop(0):
            self._newest = next(self._moments) if self._foresees else None
            yield index, weights

    def _draw(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> None:
        every = Parts(self._num_parts, self._advantages(batch) if self._by_advantages else None)
        for _ in range(self._at_once):
            drawn = self._sampler.epoch(every, num_minibatches, progress_fraction)
            self._drawn.append([self._here(*minibatch) for minibatch in drawn])
        if self._foresees:
            drawn_here = [index for epoch in self._drawn for index, _ in epoch]
            advantages = [batch.counted_advantages(index) for index in drawn_here]
            self._moments = iter(self._ranks.moments(advantages))

    def _advantages(self, batch: Any) -> Tensor:
        """Of the parts of all ranks, which each draws from."""
        own = batch.part_advantages
        whole = own.new_zeros(self._num_parts)
        whole[self._places >= 0] = own
        return self._ranks.sum(whole)

    def _here(self, index: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Where the parts with these numbers are, of those that are here, and their weights."""
        places = self._places[index]
        is_here = places >= 0
        return places[is_here], None if weights is None else weights[is_here]

    def normalized(self, advantages: Tensor, among: Tensor) -> Tensor:
        if self._newest is None:
            return self._ranks.normalized(advantages, among)
        return normalized_by(self._newest, advantages)

    def state_dict(self) -> dict[str, Any]:
        """As that of the sampler: between two updates nothing is drawn ahead."""
        return self._sampler.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._sampler.load_state_dict(state)


def normalized_by(moments: Tensor, advantages: Tensor) -> Tensor:
    """By `moments` [3] float64: how many there are in all ranks, their mean and deviation. A single
    one is left as it is.
    """
    count, mean, deviation = moments.tolist()
    return advantages if count < 2 else (advantages - mean) / (deviation + EPSILON)


def places_here(rollout: Rollout, ranks: Ranks) -> tuple[int, Tensor]:
    """How many parts all ranks have to draw from, and for each its place among those that are here,
    -1 where it is elsewhere. Parts are steps, with memory rows of steps, in the order [t, n] of all
    environments; where steps may be dead, only parts with something to learn from count.
    """
    steps, num_rows = rollout.rewards.shape
    num_pieces = steps if rollout.states is None else len(rollout.states)
    if rollout.valid is None:
        device = rollout.rewards.device
        places = torch.full((num_pieces, ranks.whole_size(num_rows)), -1, device=device)
        here = torch.arange(num_pieces * num_rows, device=device).view(num_pieces, num_rows)
        ranks.own_part(places, 1).copy_(here)
        return places.numel(), places.flatten()
    own = rollout.valid.view(num_pieces, -1, num_rows).any(1)
    counting = ranks.gathered(own, 1)
    here = torch.zeros_like(counting)
    ranks.own_part(here, 1).fill_(True)
    mine = here[counting]
    places = torch.where(mine, mine.cumsum(0) - 1, -1)
    return len(places), places
