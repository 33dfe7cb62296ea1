"""Gradients of minibatches that are too large to be learned from at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from ..run.device import is_out_of_memory
from ..run.threads import Each

SHARED_SAMPLES = 4096  # of a piece: operations large enough, what they leave behind small
LEAST_SHARED_SAMPLES = 512  # of each of two pieces: sharing out smaller ones wins nothing

GradientOf = Callable[[Any], tuple[Tensor, Tensor]]
InPieces = Callable[[Any, Sequence[slice]], Any]


class Accumulation:
    """Adds up gradients of pieces of a minibatch, of `most_samples` each; 0: of all at once.

    Where memory runs out it goes on with half as many, once. Where `is_shared`, several pieces may
    be worked on at once by `each`, and minibatches that are large enough come in pieces anyway.
    """

    def __init__(self, most_samples: int, each: Each = map, is_shared: bool = False) -> None:
        self.most_samples, self._is_shared = most_samples, is_shared
        self._each: Each = each if is_shared else map
        self._has_halved = False
        self._notices: list[str] = []

    def of(
        self, minibatch: Any, gradient_of: GradientOf, in_pieces: InPieces
    ) -> tuple[Tensor, Tensor]:
        """The sums over all pieces of what `gradient_of` gives: a gradient [P] and other sums.

        Where there are several, `in_pieces` is given the minibatch and the parts of each, and
        returns the minibatch with whatever a piece has to know of the others.
        """
        try:
            return self._added_up(minibatch, gradient_of, in_pieces)
        except (RuntimeError, MemoryError) as error:
            # A capture that failed cannot go on: it ends the run, which the line of that says.
            if self._has_halved or not is_out_of_memory(error) or is_capturing():
                raise
            self._halve(minibatch, error)
        return self._added_up(minibatch, gradient_of, in_pieces)

    def take_notices(self) -> list[str]:
        taken, self._notices = self._notices, []
        return taken

    def _added_up(
        self, minibatch: Any, gradient_of: GradientOf, in_pieces: InPieces
    ) -> tuple[Tensor, Tensor]:
        pieces = self._pieces(minibatch)
        if not pieces:
            return gradient_of(minibatch)
        minibatch = in_pieces(minibatch, pieces)
        found = iter(self._each(lambda index: gradient_of(minibatch.at(index)), pieces))
        gradient, sums = next(found)
        for more, more_sums in found:
            gradient, sums = gradient.add_(more), sums + more_sums
        return gradient, sums

    def _pieces(self, minibatch: Any) -> list[slice]:
        """The parts of each; empty where it stays in one."""
        num_parts = minibatch.num_parts
        part_samples = minibatch.advantages.numel() // num_parts
        at_once = max(1, self.most_samples // part_samples) if self.most_samples else num_parts
        count = num_shared(num_parts * part_samples) if self._is_shared else 1
        count = min(max(count, -(-num_parts // at_once)), num_parts)
        edges = [num_parts * i // count for i in range(count + 1)]
        return [slice(*each) for each in pairwise(edges)] if count > 1 else []

    def _halve(self, minibatch: Any, error: Exception) -> None:
        pieces = self._pieces(minibatch) or [slice(0, minibatch.num_parts)]
        part_samples = minibatch.advantages.numel() // minibatch.num_parts
        before = max(piece.stop - piece.start for piece in pieces) * part_samples
        self._has_halved, self.most_samples = True, max(1, before // 2)
        self._notices.append(
            f"out of memory: gradients of {self.most_samples} samples at once are added up from "
            "now on; ppo.max_minibatch_size says so from the start"
        )
        if isinstance(error, torch.OutOfMemoryError) and torch.cuda.is_available():
            torch.cuda.empty_cache()


def num_shared(num_samples: int) -> int:
    """How many pieces so many samples are shared out in: whatever there are of threads, so that
    sums are rounded alike.
    """
    return max(num_samples // SHARED_SAMPLES, min(2, num_samples // LEAST_SHARED_SAMPLES), 1)


def is_capturing() -> bool:
    """Whether what is done now is kept as a graph."""
    cuda: Any = torch.cuda
    return bool(
        cuda.is_available() and cuda.is_initialized() and cuda.is_current_stream_capturing()
    )
