"""The gradient of a minibatch's mean loss, added up over its pieces and over ranks.

A minibatch is divided into pieces if it is too large for one pass, or if threads share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.reductions import sum_gradient
from ..machine.threads import Each
from ..policies.convolutions import has_convolutions
from ..policies.policy import Policy

if TYPE_CHECKING:
    from .minibatches import Minibatch

    InPieces = Callable[[Minibatch, Sequence[slice]], Minibatch]

SHARED_SAMPLES = 4096  # samples per piece: large operations, yet little memory
LEAST_SHARED_SAMPLES = 512  # smaller pieces are not faster in threads
SHARED_IMAGES = 64  # samples per piece for convolutions, which take far longer for each

Sums = tuple[Tensor, Tensor]  # a gradient [P], or a loss, and other sums


def flat_gradient(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The loss's derivative by all `parameters` [P], in their order."""
    gradients = torch.autograd.grad(loss, parameters)
    return torch.cat([gradient.flatten() for gradient in gradients])


class Gradient:
    """Gradients of minibatches by all parameters of a policy.

    A minibatch is divided into pieces of `most_samples` each; 0: one piece. If it `is_shared`,
    `each` may work on several pieces at once, and large minibatches are always divided.
    """

    def __init__(
        self,
        policy: Policy,
        most_samples: int,
        each: Each = map,
        is_shared: bool = False,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        self._policy, self._ranks = policy, ranks
        self.parameters: list[nn.Parameter] = policy.parameters_to_learn()
        self.most_samples, self._is_shared = most_samples, is_shared
        self._each: Each = each if is_shared else map
        self._has_images = has_convolutions(self.parameters)

    def of(
        self,
        minibatch: Minibatch,
        loss_of: Callable[[Minibatch], Sums],
        num_sums: int,
        in_pieces: InPieces,
    ) -> tuple[Tensor, Tensor, int]:
        """The gradient [P] of the loss's mean over the samples of all ranks, sums [num_sums]
        float64 over these samples, and their number.

        `loss_of` returns the loss, summed over the samples of a piece, and other sums. If there are
        several pieces, `in_pieces` gets the minibatch and the index range of each, and returns the
        minibatch with what each piece needs from the others.
        """
        num_samples = minibatch.num_samples

        def of_piece(piece: Minibatch) -> Sums:
            loss, sums = loss_of(piece)
            return flat_gradient(loss / num_samples, self.parameters), sums.double()

        def of_all() -> Sums:
            return self.added_up(minibatch, of_piece, in_pieces)

        like = self._policy.flat_parameters
        return sum_gradient(self._ranks, num_samples, of_all, like, num_sums)

    def added_up(
        self, minibatch: Minibatch, gradient_of: Callable[[Minibatch], Sums], in_pieces: InPieces
    ) -> Sums:
        """The sums of `gradient_of` over all pieces: a gradient [P] and other sums."""
        pieces = self._pieces(minibatch)
        if not pieces:
            return gradient_of(minibatch)
        minibatch = in_pieces(minibatch, pieces)
        results = iter(self._each(lambda index: gradient_of(minibatch.at(index)), pieces))
        gradient, sums = next(results)
        for more, more_sums in results:
            gradient, sums = gradient.add_(more), sums + more_sums
        return gradient, sums

    def _pieces(self, minibatch: Minibatch) -> list[slice]:
        """The index range of each piece; empty if the minibatch is not divided."""
        num_parts = minibatch.num_parts
        part_samples = minibatch.advantages.numel() // num_parts
        at_once = max(1, self.most_samples // part_samples) if self.most_samples else num_parts
        num_samples = num_parts * part_samples
        count = num_shared(num_samples, self._has_images) if self._is_shared else 1
        count = min(max(count, -(-num_parts // at_once)), num_parts)
        edges = [num_parts * i // count for i in range(count + 1)]
        return [slice(*pair) for pair in pairwise(edges)] if count > 1 else []


def num_shared(num_samples: int, has_images: bool = False) -> int:
    """The number of pieces that a minibatch of `num_samples` is divided into. It does not depend on
    the number of threads, so that sums are rounded alike.
    """
    if has_images:
        return max(num_samples // SHARED_IMAGES, 1)
    return max(num_samples // SHARED_SAMPLES, min(2, num_samples // LEAST_SHARED_SAMPLES), 1)
