"""Gradients of minibatches that are too large to be learned from at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..run.device import is_out_of_memory

GradientOf = Callable[[Any], tuple[Tensor, Tensor]]
InPieces = Callable[[Any, Sequence[Tensor]], Any]


class Accumulation:
    """Adds up gradients of pieces of a minibatch, of `most_samples` each; 0: of all at once.

    Where memory runs out it goes on with half as many, once.
    """

    def __init__(self, most_samples: int) -> None:
        self.most_samples = most_samples
        self._has_halved = False
        self._notices: list[str] = []

    def of(
        self, minibatch: Any, gradient_of: GradientOf, in_pieces: InPieces
    ) -> tuple[Tensor, Tensor]:
        """The sums over all pieces of what `gradient_of` gives: a gradient [P] and other sums.

        Where there are several, `in_pieces` is given the minibatch and the numbers of the parts of
        each, and returns the minibatch with whatever a piece has to know of the others.
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
        gradient, sums = gradient_of(minibatch.at(pieces[0]))
        for index in pieces[1:]:
            more, more_sums = gradient_of(minibatch.at(index))
            gradient, sums = gradient.add_(more), sums + more_sums
        return gradient, sums

    def _pieces(self, minibatch: Any) -> Sequence[Tensor]:
        """The numbers of the parts of each; empty where it stays in one."""
        num_parts = minibatch.num_parts
        part_samples = minibatch.advantages.numel() // num_parts
        at_once = max(1, self.most_samples // part_samples) if self.most_samples else num_parts
        if at_once >= num_parts:
            return ()
        numbers: Any = torch.arange(num_parts, device=minibatch.advantages.device)
        pieces: Sequence[Tensor] = numbers.split(at_once)
        return pieces

    def _halve(self, minibatch: Any, error: Exception) -> None:
        before = min(self.most_samples or minibatch.num_samples, minibatch.num_samples)
        self._has_halved, self.most_samples = True, max(1, before // 2)
        self._notices.append(
            f"out of memory: gradients of {self.most_samples} samples at once are added up from "
            "now on; ppo.max_minibatch_size says so from the start"
        )
        if isinstance(error, torch.OutOfMemoryError) and torch.cuda.is_available():
            torch.cuda.empty_cache()


def is_capturing() -> bool:
    """Whether what is done now is kept as a graph."""
    cuda: Any = torch.cuda
    return bool(
        cuda.is_available() and cuda.is_initialized() and cuda.is_current_stream_capturing()
    )
