"""What all algorithms share that learn from rollouts of the policy they improve."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..networks.normalizers import RewardNormalizer
from ..networks.policy import Policy
from ..rollout import Rollout
from .flat_adam import FlatAdam
from .minibatches import make_orders
from .schedules import scheduled

Metrics = Mapping[str, Any]  # numbers, or scalar tensors on the device


class OnPolicy(ABC):
    """A policy, its optimizer, and an update from one rollout.

    An update asks nothing of the host, so that it runs as it stands or replays from a captured
    graph. With `is_inline` it runs as it stands, and may leave out work that a mask would undo.
    """

    begins: ClassVar[bool] = False

    def __init__(
        self,
        config: TrainConfig,
        policy: Policy,
        *,
        seed: int,
        is_inline: bool = True,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """`seed` is that of the order of samples. `tick` is called after every optimizer step."""
        self.policy, self.is_inline, self._tick = policy, is_inline, tick
        self.num_ticks = 0
        self.section = config.algorithm_section
        device = policy.flat_parameters.device
        self.optimizer = FlatAdam(policy.flat_parameters)
        self.parameters = policy.parameters_to_learn()
        self.orders = make_orders(config.rollout_size, seed, device, is_inline)
        self.reward_normalizer = (
            RewardNormalizer(config.num_envs, self.section.gamma).to(device)
            if config.normalization.reward
            else None
        )

    @staticmethod
    @abstractmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> Policy:
        """The policy of a configuration, its weights drawn from `seed`."""

    @abstractmethod
    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        """One update, with `rewards` [T, N] as they are to be learned from."""

    def begin(self) -> None:
        """Before the very first collection, of those that say `begins`."""
        return

    def explore(self, progress_fraction: Any) -> None:
        """Before each collection: what changes in exploring as the run goes on. Nothing here."""
        return

    def update(self, rollout: Rollout, progress_fraction: Any) -> Metrics:
        """Learn from `rollout`; `progress_fraction` (0 to 1) is a number or a scalar tensor."""
        metrics = self.learn(rollout, self.rewards_of(rollout), progress_fraction)
        # After the update: all of an iteration sees observations through the same statistics.
        self.policy.observe(rollout.valid_of(rollout.obs[:-1]))
        return metrics

    def rewards_of(self, rollout: Rollout) -> Tensor:
        """Rewards [T, N], scaled where the run wants that, and then taken into the statistics."""
        if not self.reward_normalizer:
            return rollout.rewards
        return self.reward_normalizer.normalized(rollout.rewards, rollout.dones, rollout.valid)

    def tick(self) -> None:
        """For after every piece of work."""
        self.num_ticks += 1
        self._tick()

    @property
    def loops(self) -> tuple[Any, ...]:
        """Compiled ones that an update calls, in the order of their first calls."""
        return ()

    @property
    def env_steps_besides(self) -> int:
        """Env steps that were learned from and are in no rollout."""
        return 0

    @property
    def work_done(self) -> int:
        """Changes whenever learning goes on, also within an update."""
        return self.num_ticks

    def learning_rate(self, progress_fraction: Any) -> Any:
        section = self.section
        return scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction)

    def flat_gradient(self, loss: Tensor) -> Tensor:
        """The loss's derivative by all parameters [P], in their order."""
        gradients = torch.autograd.grad(loss, self.parameters)
        return torch.cat([gradient.flatten() for gradient in gradients])

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on but the policy; in main memory."""
        return {"optimizer": self.optimizer.state_dict(), **self.orders.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.orders.load_state_dict(state)

    def state_besides(self) -> dict[str, Any]:
        """What a checkpoint has under names of their own: statistics of rewards, where there are
        any; in main memory.
        """
        if not self.reward_normalizer:
            return {}
        state = self.reward_normalizer.state_dict()
        return {"reward_normalizer": {name: x.cpu() for name, x in state.items()}}

    def load_state_besides(self, state: Mapping[str, Any]) -> None:
        """`state` is the whole checkpoint's."""
        if self.reward_normalizer:
            self.reward_normalizer.load_state_dict(state["reward_normalizer"])

    def forget_episodes(self) -> None:
        """The episodes under way are no more."""
        if self.reward_normalizer:
            self.reward_normalizer.returns.zero_()


def scaled_down(gradients: Tensor, max_norm: float) -> Tensor:
    """Scale `gradients` in place to norm `max_norm` where theirs is larger; returns what it was."""
    norm: Tensor = gradients.norm()
    gradients.mul_((max_norm / (norm + 1e-8)).clamp(max=1.0))
    return norm


def explained_variance(returns: Tensor, values: Tensor) -> Tensor:
    """The fraction of the returns' variance that the values predict; NaN when they never vary."""
    variance = returns.var()
    fraction = 1 - (returns - values).var() / variance
    return torch.where(variance > 0, fraction, torch.nan)
