"""The base of all algorithms that learn from rollouts of the policy that they improve."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, Unpack

import torch
from torch import Tensor

from ..config.sections.ppo import PPOConfig
from ..config.sections.pqn import PQNConfig
from ..machine.values import Scalar, State
from ..memory.rollout import Rollout
from ..policies.draws import make_orders
from ..policies.normalizers import Rewards, observe
from ..policies.policy import Policy
from ..returns.episodes import FromStart
from .algorithm import Algorithm, LearnerSettings, Metrics, Options
from .optimizer import FROM_NETWORKS, FiniteUpdates, FlatAdam, origin_in_rollout

STEPS_IN_GRAPH = 4  # of the optimizer: with memory each is up to thousands of nodes

F = TypeVar("F", bound=Callable[..., object])


class OnPolicy(Algorithm):
    """A policy, its optimizer, and an update from one rollout."""

    section: PPOConfig | PQNConfig

    def __init__(
        self, settings: LearnerSettings, policy: Policy, **options: Unpack[Options]
    ) -> None:
        """`seed` determines the order of samples. `tick` is called after every optimizer step."""
        super().__init__(settings, policy, **options)
        self.device = policy.flat_parameters.device
        self.optimizer = FlatAdam(policy.flat_parameters)
        self.parameters = policy.parameters_to_learn()
        self.finite_updates = FiniteUpdates(self.is_inline, self.device)
        self.updates_per_iteration = self.section.num_epochs * self.section.num_minibatches
        self.num_parts = settings.rollout_size // settings.part_steps
        self.orders = make_orders(self.num_parts, self.seed, self.device, self.is_inline)
        wanted, num_rows = settings.normalization, len(self.ranks.my_rows(settings.num_rows))
        self.rewards = Rewards(
            num_rows, self.section.gamma, limit=wanted.reward_limit, normalizes=wanted.reward,
            device=self.device, ranks=self.ranks,
        )  # fmt: skip

    def compiled(self, function: F) -> F:
        """`function` by torch.compile if the run asks for that. Raises ConfigError without it."""
        if not self.settings.compile:
            return function
        from ..jit.torch_compiling import Compiled  # only needed here

        compiled: F = Compiled(function, self.device)  # type: ignore[assignment]
        return compiled

    @property
    def can_share_minibatches(self) -> bool:
        """Whether threads may share a minibatch in pieces: only on the processor, and without
        torch.compile, which compiles for whole minibatches.
        """
        has_threads = self._each is not map
        on_processor = self.is_inline and self.device.type == "cpu"
        return on_processor and has_threads and not self.settings.compile

    def tick(self) -> None:
        super().tick()
        if not self.is_inline and self.num_ticks % STEPS_IN_GRAPH == 0:
            from ..jit.graphs import end_graph  # needs a GPU

            end_graph()

    @property
    def uses_threads(self) -> bool:
        """Collecting uses several threads, whatever the update does."""
        return self.is_inline

    @property
    def optimizers(self) -> tuple[FlatAdam, ...]:
        return (self.optimizer,)

    @abstractmethod
    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Scalar) -> Metrics:
        """One update from a rollout with `rewards` [T, N], which may be normalised."""

    def update(self, rollout: Rollout, progress_fraction: Scalar) -> Metrics:
        learned = self.learn(rollout, self.rewards.of(rollout), progress_fraction)
        metrics = {**learned, "updates/skipped": self.finite_updates.num_skipped + 0}
        if self.settings.normalization.obs:
            # After the update: a whole iteration normalises observations by the same statistics.
            observe(self.policy.normalizer, rollout.obs_in_pieces(), self.ranks)
        return metrics

    def moving(self, checked: Tensor, moves: Tensor | None, rollout: Rollout) -> Tensor | None:
        """`moves`, or 0 if `checked` [] is not finite: then the minibatch moves nothing."""
        return self.finite_updates.moving(checked, moves, partial(origin_of, rollout))

    def take_notices(self) -> list[str]:
        if self.is_inline:
            self._notices += self.finite_updates.notices()
        return super().take_notices()

    def compare(self, from_start: FromStart) -> dict[str, float]:
        self._notices += self.finite_updates.notices()  # the device is idle
        return super().compare(from_start)

    def state_dict(self) -> State:
        return {
            "optimizer": self.optimizer.state_dict(),
            "finite_updates": self.finite_updates.state_dict(),
            "orders": self.orders.state_dict(),
        }

    def load_state_dict(self, state: State) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        self.finite_updates.load_state_dict(state["finite_updates"])
        self.orders.load_state_dict(state["orders"])

    def extra_state(self) -> State:
        """Running statistics of rewards, if rewards are normalised."""
        return self.rewards.state_dict()

    def load_extra_state(self, state: State) -> None:
        self.rewards.load_state_dict(state)

    def forget_episodes(self) -> None:
        self.rewards.forget_episodes()


def flat_gradient(loss: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The loss's derivative by all `parameters` [P], in their order."""
    gradients = torch.autograd.grad(loss, parameters)
    return torch.cat([gradient.flatten() for gradient in gradients])


def origin_of(rollout: Rollout) -> str:
    """A sentence on where NaN or infinity in an update from this `rollout` came from."""
    return origin_in_rollout(rollout) or FROM_NETWORKS
