"""What all algorithms share that learn action values from replay and act by the highest."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..config import TrainConfig
from ..networks.q_network import QPolicy
from ..networks.value_network import ActionValues
from ..replay import Batch
from .algorithm import Metrics, scaled_down
from .exploring import epsilon_at
from .flat_adam import FlatAdam
from .off_policy import ADAM_EPSILON, OffPolicy


class Losses(NamedTuple):
    """Of a minibatch: the loss and the distance from the target of every sample [B], the value of
    its action [B], and the derivative of the losses' sum by the network's outputs [B, ...].
    """

    loss: Tensor
    error: Tensor
    value: Tensor
    by_outputs: Tensor


class ValueBased(OffPolicy):
    """One network, a target network that follows it, and a gradient step for each minibatch."""

    policy: QPolicy

    def __init__(
        self,
        config: TrainConfig,
        policy: QPolicy,
        *,
        seed: int,
        is_inline: bool = True,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(config, policy, seed=seed, is_inline=is_inline, tick=tick)
        self.network: ActionValues = policy.network
        self.target = self.network.frozen_copy()
        self.optimizer = FlatAdam(policy.flat_parameters, ADAM_EPSILON)

    @abstractmethod
    def losses(self, batch: Batch, obs: Tensor, outputs: Tensor) -> Losses:
        """Of a minibatch, from the network's `outputs` for its `obs`, normalised."""

    def explore(self, progress_fraction: Any) -> None:
        """Explore less as the run goes on; at random all through warm-up."""
        epsilon = epsilon_at(self.section, progress_fraction)
        if self.is_inline:
            epsilon = epsilon if self.is_warm else 1.0
        else:
            epsilon = torch.where(self.is_warm, epsilon, 1.0)
        self.policy.epsilon.copy_(torch.as_tensor(epsilon))

    @torch.no_grad()
    def learn(
        self, batch: Batch, number: int, rate: Any, active: Tensor | None
    ) -> tuple[Metrics, Tensor]:
        obs = self.policy.normalizer(batch.obs)
        outputs, tape = self.network.taped(obs)
        losses = self.losses(batch, obs, outputs)
        weights = (batch.weights / len(batch)).view(-1, *[1] * (outputs.dim() - 1))
        gradient = self.network.gradient(tape, losses.by_outputs * weights)
        norm = scaled_down(gradient, self.section.max_grad_norm)
        self.optimizer.step(gradient, rate, active)
        self.move_target(self.target, self.network, active)
        figures = {
            "loss/value": losses.loss.mean(),
            "value/mean": losses.value.mean(),
            "value/td_error": losses.error.mean(),
            "optimizer/grad_norm": norm,
        }
        return figures, losses.error

    def update(self, *arguments: Any) -> Metrics:
        return {**super().update(*arguments), "exploration/epsilon": self.policy.epsilon}

    def state_dict(self) -> dict[str, Any]:
        return {
            **super().state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "target": self.target.flat_parameters.cpu().clone(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.optimizer.load_state_dict(state["optimizer"])
        self.target.flat_parameters.copy_(state["target"])
