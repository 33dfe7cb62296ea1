"""A loss that is added to an algorithm's own loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from ...machine.values import Scalar, State
from ...memory.rollout import Rollout
from ...policies.policy import Policy
from ..minibatches import Evaluation, Minibatch


class AuxiliaryLoss(ABC):
    """Added to the loss of every minibatch, multiplied by `weight`. `data` [T, N, ...] are tensors
    over the rollout's steps, if the loss needs any; minibatches hold their samples of them in
    `extra` under the loss's `name`.
    """

    name: ClassVar[str]
    metric: ClassVar[str]  # the metric of its mean
    can_be_shared: ClassVar[bool] = True  # whether threads may share a minibatch
    weight: Scalar = 0.0
    data: Tensor | None = None

    def begin(self, rollout: Rollout, progress_fraction: Scalar) -> None:
        """Called before each update: set `weight` and `data`."""
        return

    def prepared(self, minibatch: Minibatch) -> Minibatch:
        """The minibatch with the random draws of this loss."""
        return minibatch

    def in_pieces(self, minibatch: Minibatch, pieces: Sequence[slice], policy: Policy) -> Minibatch:
        """The minibatch with what each piece needs from the others; `pieces` are their index
        ranges.
        """
        return minibatch

    @abstractmethod
    def loss_sum(self, piece: Minibatch, evaluation: Evaluation) -> Tensor:
        """The loss summed over the samples of a piece of a minibatch."""

    def forget_episodes(self) -> None:
        """Called when all current episodes were dropped: forget what belongs to them."""
        return

    def state_dict(self) -> State:
        """The state that the next update depends on, under keys of this loss; in main memory."""
        return {}

    def load_state_dict(self, state: State) -> None:
        """Restore it; `state` is the state of the whole algorithm."""
        return
