"""The base of off-policy algorithms that learn critics from replay, and an actor from critics."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from ..distributed.reductions import merge_batch
from ..machine.values import Scalar
from ..memory.replay import Batch
from ..policies.actor import Actor
from ..policies.dense import Critics
from ..policies.distributions.squashing import SQUASHES
from ..policies.draws import Kind
from ..policies.encoded import EncodedCritics
from ..policies.encoder import is_shared
from ..policies.network import Network
from ..policies.state_dependent import StateDependentNetwork
from ..returns.losses import LOSSES
from ..returns.td import td_target
from .algorithm import LearnerSettings, Metrics
from .off_policy import ADAM_EPSILON, MOST_SAMPLES_SHARED, OffPolicy
from .optimizer import FlatAdam, make_loss_scale, scaled_down


class CriticLosses(NamedTuple):
    """The critics' mean loss and mean value over a minibatch, the distance [B] of each sample from
    its target, its priority [B], and the loss's derivative by the critics' weights [P].
    """

    loss: Tensor
    value: Tensor
    errors: Tensor
    priorities: Tensor
    gradient: Tensor


class OffPolicyActorCritic(OffPolicy):
    """Critics that follow their targets with every minibatch, and an actor that follows them."""

    policy: Actor
    saved: ClassVar[tuple[str, ...]] = (
        "optimizer", "critic_optimizer", "critic_scale", "actor_scale", "critics", "target_critics",
    )  # fmt: skip
    num_critics: ClassVar[int] = 2
    squared_weight: ClassVar[float] = 1.0  # of half the squared error

    def __init__(self, settings: LearnerSettings, policy: Actor, **options: Any) -> None:
        super().__init__(settings, policy, **options)
        device = policy.flat_parameters.device
        self.loss_of = LOSSES[self.section.loss]
        self.loss_weight = self.squared_weight if self.section.loss == "squared" else 1.0
        self.critics: Any = self.make_critics(self.first_seed)
        self.critics.set_precision(policy.network.precision)
        self.critics.to_device(device)
        self.target_critics = self.critics.frozen_copy()
        self.critic_optimizer = FlatAdam(self.critics.flat_parameters, ADAM_EPSILON)
        self.optimizer = FlatAdam(policy.flat_parameters, ADAM_EPSILON)
        precision = settings.policy.precision
        self.critic_scale = make_loss_scale(precision, device)
        self.actor_scale = make_loss_scale(precision, device)

    @property
    def optimizers(self) -> tuple[FlatAdam, ...]:
        return (self.optimizer, self.critic_optimizer)

    def drawn(self) -> dict[str, tuple[Kind, tuple[int, ...]]]:
        shape = (self.section.batch_size, self.policy.action_size)
        drawn: dict[str, tuple[Kind, tuple[int, ...]]] = {"normals": ("normal", shape)}
        network = self.policy.network
        if isinstance(network, StateDependentNetwork):
            drawn["exploration"] = "normal", (self.ranks.global_size(network.num_noise),)
        return drawn

    @abstractmethod
    def next_values(self, next_obs: Tensor) -> Tensor:
        """Values [B] of the next states by the target, from their normalised observations."""

    @abstractmethod
    def learn_actor(self, obs: Tensor, rate: Any, active: Tensor | None) -> Metrics:
        """Move the actor to where the critics see more, and the targets that follow it."""

    def explore(self, progress_fraction: Scalar) -> None:
        """With noise that is kept for all of the collection."""
        super().explore(progress_fraction)
        network = self.policy.network
        if isinstance(network, StateDependentNetwork):
            network.take_noise(self.ranks.my_slice(self.draws["exploration"].next()))

    @torch.no_grad()
    def learn(
        self, batch: Batch, number: int, rate: Any, active: Tensor | None
    ) -> tuple[Metrics, Tensor]:
        normalizer = self.policy.normalizer
        obs, next_obs = normalizer(batch.obs), normalizer(batch.next_obs)
        before = self.before_critics(obs)
        losses = self.critic_losses(batch, obs, next_obs)
        figures: Metrics = {
            **before,
            "loss/value": losses.loss,
            "value/mean": losses.value,
            "value/td_error": losses.errors.mean(),
        }
        gradient, figures = merge_batch(self.ranks, self.share_of_batch, losses.gradient, figures)
        loss = figures["loss/value"]
        gradient, moves = self.critic_scale.down(gradient, loss, active)
        norm = scaled_down(gradient, self.section.max_grad_norm)
        checked = norm + loss + sum(figures[name] for name in before)
        moves = self.moving(checked, moves, batch)
        self.after_critics(figures, rate, moves)
        self.critic_optimizer.step(gradient, rate, moves)
        figures = {**figures, "optimizer/grad_norm": norm}
        if (number + 1) % self.section.policy_delay == 0:
            figures = {**figures, **self.learn_actor(obs, rate, moves)}
        return figures, losses.priorities

    @property
    def num_critic_outputs(self) -> int:
        """The number of outputs of a critic per action: 1 for the value, or the number of its
        quantiles.
        """
        return 1

    @property
    def is_exact_with_threads(self) -> bool:
        networks = (self.policy.network, self.critics)
        is_small = self.section.batch_size <= MOST_SAMPLES_SHARED
        return is_small and all(network.is_exact_with_threads for network in networks)

    def greedy_values(self, obs: Tensor) -> Tensor:
        obs = self.policy.normalizer(obs)
        return self.values_of(obs, self.policy.best(obs))

    def values_of(self, obs: Tensor, actions: Tensor) -> Tensor:
        """The smallest of the critics' values [B] of normalised observations and actions."""
        values: Tensor = self.critics.taped(obs, actions)[0]
        return values.amin(0)

    def make_critics(self, seed: int) -> Network:
        """The critics, their weights drawn from `seed` alone."""
        policy, config = self.policy, self.settings.policy
        encoder = policy.make_encoder(seed)
        if encoder is not None:
            encoders: list[Any] = [encoder]
            if not is_shared(encoder):  # of the environment: one for each critic
                others = range(1, self.num_critics)
                encoders += [policy.make_encoder(seed + number) for number in others]
            return EncodedCritics(
                encoders, policy.action_size, config.hidden_sizes, config.activation, seed,
                self.num_critic_outputs, self.num_critics,
            )  # fmt: skip
        return Critics(
            policy.obs_size, policy.action_size, config.hidden_sizes, config.activation,
            self.num_critics, self.num_critic_outputs, seed=seed,
        )  # fmt: skip

    def critic_losses(self, batch: Batch, obs: Tensor, next_obs: Tensor) -> CriticLosses:
        """The critics' loss of a minibatch, its observations normalised."""
        target = td_target(batch.returns, batch.discounts, self.next_values(next_obs))
        values, tape = self.critics.taped(obs, batch.actions)
        loss = self.loss_of(values - target)
        slopes = loss.slopes * (batch.weights * (self.loss_weight / len(batch)))
        errors = (values - target).abs().amax(0)
        return CriticLosses(
            loss=loss.values.mean() * (self.num_critics * self.loss_weight),
            value=values.mean(),
            errors=errors,
            priorities=errors,
            gradient=self.critics.gradient(tape, self.critic_scale.up(slopes)),
        )

    def before_critics(self, obs: Tensor) -> Metrics:
        """Called first in an update; returns metrics, means over the minibatch."""
        return {}

    def after_critics(self, figures: Metrics, rate: Any, active: Tensor | None) -> None:
        """Called once the means of the whole minibatch are known. Nothing may move where `active`
        [] is 0.
        """
        return

    def step_actor(
        self, gradient: Tensor, loss: Tensor, rate: Any, active: Tensor | None
    ) -> Metrics:
        """Move the actor against `gradient` [P], that of the mean `loss` of the minibatch times its
        scale; metrics.
        """
        gradient, figures = merge_batch(
            self.ranks, self.share_of_batch, gradient, {"loss/policy": loss}
        )
        gradient, moves = self.actor_scale.down(gradient, figures["loss/policy"], active)
        norm = scaled_down(gradient, self.section.max_grad_norm)
        moves = self.moving(norm + figures["loss/policy"], moves, self.batch)
        self.optimizer.step(gradient, rate, moves)
        for target, network in self.targets:
            self.move_target(target, network, moves)
        return figures

    @property
    def targets(self) -> tuple[tuple[Network, Network], ...]:
        """The target networks that move with the actor, and what they follow."""
        return ((self.target_critics, self.critics),)


def actor_options(settings: LearnerSettings) -> dict[str, Any]:
    """How a configuration's actor makes actions of its outputs, and whether some are random."""
    section = settings.section
    return {"squash": SQUASHES[section.squash], "is_epsilon_greedy": section.is_epsilon_greedy}
