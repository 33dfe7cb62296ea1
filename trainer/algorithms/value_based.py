"""The base of algorithms that learn action values from replay and take the best action."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...shared.errors import UsageError
from ...shared.text.harmless import one_line
from ..distributed.reductions import merge_batch
from ..machine.threads import torch_threads
from ..machine.values import Scalar
from ..memory.replay import Batch
from ..policies.convolutions import has_convolutions
from ..policies.draws import Kind
from ..policies.encoder import make_encoder
from ..policies.mlp import DTYPES
from ..policies.policy import masked
from ..policies.q_network import QPolicy
from ..policies.value_network import ActionValues, Head, make_value_network
from ..spaces import Spaces
from .algorithm import LearnerSettings, Metrics
from .off_policy import ADAM_EPSILON, MOST_SAMPLES_SHARED, OffPolicy
from .optimizer import FlatAdam, make_loss_scale, scaled_down


class Losses(NamedTuple):
    """Per-sample results of a minibatch: loss, distance from the target and priority of each [B],
    the value of its action [B], and the derivative of the losses' sum by the network's outputs
    [B, ...].
    """

    loss: Tensor
    error: Tensor
    priority: Tensor
    value: Tensor
    by_outputs: Tensor


class ValueBased(OffPolicy):
    """One network, a target network that follows it, and a gradient step for each minibatch."""

    policy: QPolicy
    saved = ("optimizer", "loss_scale", "target")

    def __init__(self, settings: LearnerSettings, policy: QPolicy, **options: Any) -> None:
        super().__init__(settings, policy, **options)
        self.network: ActionValues = policy.network
        self.target = self.network.frozen_copy()
        device = policy.flat_parameters.device
        self.optimizer = FlatAdam(policy.flat_parameters, ADAM_EPSILON)
        self.loss_scale = make_loss_scale(settings.policy.precision, device)
        self._shares_images = self.is_inline and has_convolutions(self.network.parameters())

    @property
    def optimizers(self) -> tuple[FlatAdam, ...]:
        return (self.optimizer,)

    def drawn(self) -> dict[str, tuple[Kind, tuple[int, ...]]]:
        if not self.policy.is_noisy:
            return {}
        num_noise = self.policy.network.num_noise
        return {
            "noise": ("normal", (2, num_noise)),
            "exploration": ("normal", (self.settings.num_rows, num_noise)),
        }

    def inputs(self, obs: Tensor) -> tuple[Tensor, ...]:
        """The network's inputs for normalised `obs`."""
        return (obs,)

    @abstractmethod
    def losses(self, batch: Batch, outputs: Tensor, next_obs: Tensor) -> Losses:
        """Losses of a minibatch, from the network's `outputs` and normalised `next_obs`."""

    def explore(self, progress_fraction: Scalar) -> None:
        """Where layers are noisy every row has a draw of its own, kept for all of the collection:
        noise drawn anew in every step goes nowhere, and one draw for all rows tries one thing at a
        time. An episode that begins within the collection keeps its row's.
        """
        super().explore(progress_fraction)
        if self.policy.is_noisy:
            self.policy.take_noise(self.ranks.my_slice(self.draws["exploration"].next()))

    @torch.no_grad()
    def learn(
        self, batch: Batch, number: int, rate: Any, active: Tensor | None
    ) -> tuple[Metrics, Tensor]:
        normalizer = self.policy.normalizer
        self.resample_noise()
        # What convolutions give is the same with any number of threads; not so their gradients.
        with torch_threads(self._num_threads() if self._shares_images else 1):
            outputs, tape = self.network.taped(*self.inputs(normalizer(batch.obs)))
            losses = self.losses(batch, outputs, normalizer(batch.next_obs))
        if not isinstance(losses, Losses):  # of a class of the user's
            raise UsageError(
                f"{type(self).__name__}.losses returns {one_line(repr(losses), 60)}: expected "
                "Losses of operant.algorithms"
            )
        weights = (batch.weights / len(batch)).view(-1, *[1] * (outputs.dim() - 1))
        slopes = self.loss_scale.up(losses.by_outputs * weights)
        figures: Metrics = {
            "loss/value": losses.loss.mean(),
            "value/mean": losses.value.mean(),
            "value/td_error": losses.error.mean(),
        }
        gradient, figures = merge_batch(
            self.ranks, self.share_of_batch, self.network.gradient(tape, slopes), figures
        )
        loss = figures["loss/value"]
        gradient, moves = self.loss_scale.down(gradient, loss, active)
        norm = scaled_down(gradient, self.section.max_grad_norm)
        moves = self.moving(norm + loss, moves, batch)
        self.optimizer.step(gradient, rate, moves)
        is_due: Any = (self.num_updates + 1) % self.section.target_every == 0
        if moves is not None:
            self.move_target(self.target, self.network, moves * is_due)
        elif is_due:
            self.move_target(self.target, self.network, None)
        return {**figures, "optimizer/grad_norm": norm}, losses.priority

    @property
    def is_exact_with_threads(self) -> bool:
        is_small = self.section.batch_size <= MOST_SAMPLES_SHARED
        return is_small and self.network.is_exact_with_threads

    @property
    def uses_threads(self) -> bool:
        return self.is_exact_with_threads or self._shares_images

    def greedy_values(self, obs: Tensor) -> Tensor:
        with self.network.without_noise():
            return self.policy.values(obs).amax(1)

    def resample_noise(self) -> None:
        """Draw the noise of both networks' layers anew, where they have any."""
        if self.policy.is_noisy:
            ours, theirs = self.draws["noise"].next()
            self.network.take_noise(ours)
            self.target.take_noise(theirs)

    def best_next(self, target_values: Tensor, next_obs: Tensor) -> Tensor:
        """The legal actions [B] whose values count in the target: the online network's choice with
        `double`, else the best of `target_values` [B, A].
        """
        values = self.online_values(next_obs) if self.section.double else target_values
        return masked(values, next_obs, self.policy.mask_size).argmax(1)

    def online_values(self, obs: Tensor) -> Tensor:
        """The values [B, A] by which `double` chooses, from `obs`, normalised."""
        return self.network.values(obs)


def of_actions(outputs: Tensor, actions: Tensor) -> Tensor:
    """The rows [B, K] of `outputs` [B, A, K] that belong to `actions` [B]."""
    index = actions.view(-1, 1, 1).expand(-1, 1, outputs.shape[-1])
    return outputs.gather(1, index).squeeze(1)


def into_outputs(slopes: Tensor, actions: Tensor, num_actions: int) -> Tensor:
    """Slopes [B, K] of the actions taken as those of all outputs [B, A * K], 0 elsewhere."""
    num_samples, size = slopes.shape
    index = actions.view(-1, 1, 1).expand(-1, 1, size)
    all_slopes = slopes.new_zeros(num_samples, num_actions, size)
    return all_slopes.scatter_(1, index, slopes.unsqueeze(1)).flatten(1)


def make_q_policy(
    settings: LearnerSettings, spec: Spaces, seed: int, head: Head | None = None
) -> QPolicy:
    """A network as the algorithm's section wants it, with outputs that `head` makes values of."""
    section = settings.section

    def make_network(obs_size: int, num_actions: int) -> ActionValues:
        return make_value_network(
            obs_size, num_actions, settings.policy, seed, head=head, dueling=section.dueling,
            noisy_std=section.noisy_std or None, layer_norm=section.layer_norm,
            encoder=make_encoder(settings.policy, spec, seed, layer_norm=section.layer_norm),
        )  # fmt: skip

    return QPolicy(
        spec,
        make_network,
        settings.normalization.obs,
        DTYPES[settings.policy.precision],
        settings.num_rows,
    )
