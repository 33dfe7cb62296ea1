"""Minibatches of the samples of all ranks; each rank learns from its own samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ..machine.values import State
from ..memory.rollout import Rollout
from ..memory.samplers import Drawn, Parts, Prioritised, Sampler
from .process_group import ProcessGroup
from .reductions import moments, normalize_advantages, normalized_by


def distributed_sampler(
    ranks: ProcessGroup, sampler: Sampler, section: Any, normalizes: bool
) -> Sampler:
    """A version of `sampler` that draws from the samples of all ranks. `normalizes` says whether
    advantages are normalised over each minibatch.
    """
    if ranks.size == 1:
        return sampler
    return DistributedSampler(ranks, sampler, section, normalizes)


class DistributedSampler:
    """Draws the minibatches that a single process would draw, the same in all ranks, and returns
    this rank's samples of each, which may be none.

    One sum over all ranks gives the means and deviations of the advantages of many minibatches,
    which are drawn ahead: those of all epochs, or of one epoch if an update can stop early.
    """

    def __init__(
        self, ranks: ProcessGroup, sampler: Sampler, section: Any, normalizes: bool
    ) -> None:
        self._sampler, self._ranks = sampler, ranks
        self._draws_ahead = normalizes
        stops_early = bool(getattr(section, "target_kl", None))
        self._num_epochs_ahead = 1 if stops_early else section.num_epochs
        self._by_advantages = isinstance(sampler, Prioritised)
        self._epochs: list[list[tuple[Tensor, Tensor | None]]] = []
        self._moments: Iterator[Tensor] = iter(())
        self._newest: Tensor | None = None

    def begin(self, rollout: Rollout) -> None:
        """Find out which samples this rank has."""
        self._num_parts, self._places = local_places(rollout, self._ranks)
        self._epochs = []

    def epoch(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> Drawn:
        if not self._epochs:
            self._draw(batch, num_minibatches, progress_fraction)
        for index, weights in self._epochs.pop(0):
            self._newest = next(self._moments) if self._draws_ahead else None
            yield index, weights

    def _draw(self, batch: Any, num_minibatches: int, progress_fraction: Any) -> None:
        advantages = self._advantages(batch) if self._by_advantages else None
        parts = Parts(self._num_parts, advantages)
        for _ in range(self._num_epochs_ahead):
            drawn = self._sampler.epoch(parts, num_minibatches, progress_fraction)
            self._epochs.append([self._local(*minibatch) for minibatch in drawn])
        if self._draws_ahead:
            minibatches = [index for epoch in self._epochs for index, _ in epoch]
            counted = [batch.counted_advantages(index) for index in minibatches]
            self._moments = iter(moments(self._ranks, counted))

    def _advantages(self, batch: Any) -> Tensor:
        """The advantages of the parts of all ranks."""
        local = batch.part_advantages
        advantages = local.new_zeros(self._num_parts)
        advantages[self._places >= 0] = local
        return self._ranks.sum(advantages)

    def _local(self, index: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The places of this rank's parts among those with these numbers, and their weights."""
        places = self._places[index]
        is_local = places >= 0
        return places[is_local], None if weights is None else weights[is_local]

    def normalized(self, advantages: Tensor, among: Tensor) -> Tensor:
        if self._newest is None:
            return normalize_advantages(self._ranks, advantages, among)
        return normalized_by(self._newest, advantages)

    def state_dict(self) -> State:
        """The sampler's state: nothing is drawn ahead between two updates."""
        return self._sampler.state_dict()

    def load_state_dict(self, state: State) -> None:
        self._sampler.load_state_dict(state)


def local_places(rollout: Rollout, ranks: ProcessGroup) -> tuple[int, Tensor]:
    """The number of parts of all ranks, and the place of each part in this rank, -1 if another rank
    has it. Parts are steps, or rows of steps with a recurrent policy, in the order [t, n] of all
    environments. If steps may be invalid, only parts with valid steps count.
    """
    steps, num_rows = rollout.rewards.shape
    num_pieces = steps if rollout.states is None else len(rollout.states)
    if rollout.valid is None:
        device = rollout.rewards.device
        places = torch.full((num_pieces, ranks.global_size(num_rows)), -1, device=device)
        numbers = torch.arange(num_pieces * num_rows, device=device).view(num_pieces, num_rows)
        ranks.my_slice(places, 1).copy_(numbers)
        return places.numel(), places.flatten()
    counts = ranks.gather(rollout.valid.view(num_pieces, -1, num_rows).any(1), 1)
    is_local = torch.zeros_like(counts)
    ranks.my_slice(is_local, 1).fill_(True)
    counted = is_local[counts]
    places = torch.where(counted, counted.cumsum(0) - 1, -1)
    return len(places), places
