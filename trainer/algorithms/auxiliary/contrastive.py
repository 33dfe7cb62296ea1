"""Contrastive loss on recurrent features: tell a later state of the same episode from others'.

Source: van den Oord et al. 2018, "Representation learning with contrastive predictive coding",
arXiv:1807.03748, eq. 4; geometric distances: Eysenbach et al. 2022, arXiv:2206.07568, section 4;
gradients of pieces: Gao et al. 2021, arXiv:2101.06983, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ...config.sections.contrastive import ContrastiveConfig
from ...machine.values import State
from ...policies.draws import FOR_POSITIVES, make_draws, side_seed
from ..minibatches import Evaluation, Minibatch, Rows
from .auxiliary_loss import AuxiliaryLoss


class Contrast(NamedTuple):
    """The pairs that are compared in R rows of L steps; everything is [L, R, ...].

    `later` is the distance in steps from each step to its positive, 0 without one, and `shares` is
    the weight of a loss in the sum over a minibatch. If a minibatch is learned from in pieces,
    `losses` and their derivatives `by_embeddings` [L, R, E] are computed among all of its rows.
    """

    later: Tensor
    shares: Tensor
    losses: Tensor | None = None
    by_embeddings: Tensor | None = None

    @classmethod
    def of(cls, rows: Rows) -> Contrast:
        """The fields of a contrast that `rows` hold in `extra`."""
        return cls(**{name: rows.extra[name] for name in cls._fields if name in rows.extra})


class Contrastive(AuxiliaryLoss):
    """Draws positives, and gives the loss of what `embed` makes of features."""

    name, metric = "contrast", "loss/contrastive"
    # A sample is compared with the whole minibatch. With pieces, that costs one more forward
    # pass.
    can_be_shared = False

    def __init__(
        self,
        section: ContrastiveConfig,
        embed: Callable[[Tensor], Tensor],
        shape: tuple[int, int],
        seed: int,
        device: torch.device,
        is_inline: bool,
    ) -> None:
        """`embed` takes features [L, R, H] to unit vectors [L, R, E]; `shape` is (L, most rows)."""
        self._embed, self._discount = embed, section.discount
        self.weight, self._temperature = section.coef, section.temperature
        draws_seed = side_seed(seed, FOR_POSITIVES)
        self._draws = make_draws("uniform", shape, draws_seed, device, is_inline)

    def prepared(self, minibatch: Minibatch) -> Minibatch:
        """The minibatch with positives. `shares` scale the losses so that their sum over the
        minibatch, divided by its number of samples, is the mean over the steps that have a
        positive.
        """
        assert isinstance(minibatch, Rows)
        resets = minibatch.resets
        uniform = self._draws.next()[:, : resets.shape[1]]
        later = geometric_steps(uniform, steps_left(resets), self._discount)
        takes_part = (later > 0).float()
        shares = takes_part * (minibatch.num_samples / takes_part.sum().clamp(min=1))
        return minibatch.with_extra({"later": later, "shares": shares})

    def loss_sum(self, piece: Minibatch, evaluation: Evaluation) -> Tensor:
        """The loss of all steps of a piece, summed by their shares."""
        assert isinstance(piece, Rows)
        contrast, embeddings = Contrast.of(piece), self._embed(evaluation.features)
        if contrast.losses is None or contrast.by_embeddings is None:
            losses = info_nce(embeddings, contrast.later, self._temperature)
            return (losses * contrast.shares).sum()
        # A function with the same value and the same derivative.
        linear = (embeddings * contrast.by_embeddings).sum()
        return linear + ((contrast.losses * contrast.shares).sum() - linear).detach()

    @torch.no_grad()
    def in_pieces(self, minibatch: Minibatch, pieces: Sequence[slice], policy: Any) -> Minibatch:
        """Negatives are all other rows of the minibatch, in any piece. One more forward pass over
        the minibatch gives each piece the losses among all rows, and their derivatives.
        """
        assert isinstance(minibatch, Rows)
        features = torch.cat([minibatch.at(index).features(policy) for index in pieces], 1)
        contrast = Contrast.of(minibatch)
        embeddings = self._embed(features.detach()).detach().requires_grad_()
        with torch.enable_grad():
            losses = info_nce(embeddings, contrast.later, self._temperature)
            (slope,) = torch.autograd.grad((losses * contrast.shares).sum(), embeddings)
        return minibatch.with_extra({"losses": losses.detach(), "by_embeddings": slope})

    def state_dict(self) -> State:
        return {"contrastive": self._draws.state_dict()}

    def load_state_dict(self, state: State) -> None:
        self._draws.load_state_dict(state["contrastive"])


def steps_left(resets: Tensor) -> Tensor:
    """How many steps of the same episode follow each in its row: [L, R] int64, where nothing is
    remembered after the steps `resets` [L, R].
    """
    steps = torch.arange(len(resets), device=resets.device).unsqueeze(1)
    ends = torch.where(resets, steps, len(resets) - 1)
    next_ends: Tensor = ends.flip(0).cummin(0).values.flip(0)
    return next_ends - steps


def geometric_steps(uniform: Tensor, most: Tensor, discount: float) -> Tensor:
    """k of 1 to `most` with probabilities in proportion to discount^k, int64; 0 where `most` is.

    It is the inverse of their cumulative distribution at `uniform`, in [0, 1):
    k = 1 + floor(log(1 - u (1 - d^most)) / log d).
    """
    log_discount = math.log(discount) if discount else -math.inf
    within = torch.expm1((most.double() * log_discount).nan_to_num(neginf=-math.inf))
    steps = 1 + (torch.log1p(uniform.double() * within) / log_discount).floor().long()
    return steps.minimum(most)


def info_nce(embeddings: Tensor, later: Tensor, temperature: float) -> Tensor:
    """How hard it is to tell each step's positive from those of the other rows: [L, R] in nats.

        loss_tr = -log( exp(z_tr . p_tr / tau) / sum over r' of exp(z_tr . p_tr' / tau) )

    `embeddings` z are [L, R, E]; the positive p_tr is z of the same row, `later` [L, R] steps after
    t. Where `later` is 0 there is none: such a step has no loss, and is nobody's negative.
    """
    num_steps, num_rows = later.shape
    takes_part = later > 0
    steps = torch.arange(num_steps, device=later.device).unsqueeze(1) + later
    # As a product: the derivative of an indexed sum is added up in any order on a GPU.
    chosen = one_hot(steps.T, num_steps).to(embeddings.dtype)
    positives = (chosen @ embeddings.transpose(0, 1)).transpose(0, 1)
    logits = embeddings @ positives.mT / temperature
    itself = torch.eye(num_rows, dtype=torch.bool, device=later.device)
    logits = logits.masked_fill(~(takes_part.unsqueeze(1) | itself), -math.inf)
    losses = logits.logsumexp(-1) - logits.diagonal(dim1=-2, dim2=-1)
    return losses.masked_fill(~takes_part, 0.0)
