"""What all algorithms share that learn from rollouts of the policy they improve."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from torch import Tensor, nn

from ..config import TrainConfig
from ..cuda.graphs import end_graph
from ..evaluation import FromStart
from ..host_obs import Drawn, HostMinibatches
from ..networks.normalizers import RewardCentring, RewardNormalizer
from ..networks.policy import Policy
from ..rollout import Rollout
from .algorithm import Algorithm, Metrics, flat_gradient
from .finite_updates import FiniteUpdates, origin_in_rollout
from .flat_adam import FlatAdam
from .minibatches import make_orders

STEPS_IN_GRAPH = 4  # of the optimizer: with memory each is up to thousands of nodes


class OnPolicy(Algorithm):
    """A policy, its optimizer, and an update from one rollout."""

    def __init__(self, config: TrainConfig, policy: Policy, **options: Any) -> None:
        """`options` are `Algorithm`'s; the seed is that of the order of samples, and `tick` is
        called after every optimizer step.
        """
        super().__init__(config, policy, **options)
        device = policy.flat_parameters.device
        self.optimizer = FlatAdam(policy.flat_parameters)
        self.finite_updates = FiniteUpdates(self.is_inline, device)
        self.parameters = policy.parameters_to_learn()
        num_parts = config.rollout_size // self.part_steps(config)
        self.orders = make_orders(num_parts, self.seed, device, self.is_inline)
        self._fetching: HostMinibatches | None = None
        self._notices: list[str] = []
        wanted, num_rows = config.normalization, self.ranks.own_size(config.num_rows)
        self.reward_normalizer = (
            RewardNormalizer(num_rows, self.section.gamma, self.ranks).to(device)
            if wanted.reward
            else None
        )
        self.reward_centring = (
            RewardCentring(num_rows, wanted.reward_centring).to(device)
            if wanted.reward_centring
            else None
        )

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` by torch.compile, where a run wants that. Raises ConfigError where that cannot
        be had.
        """
        if not self.config.compile:
            return function
        from ..torch_compiling import Compiled  # seldom wanted

        return Compiled(function, self.policy.flat_parameters.device)

    def tick(self) -> None:
        super().tick()
        if self.num_ticks % STEPS_IN_GRAPH == 0:
            end_graph()

    @property
    def uses_threads(self) -> bool:
        """Collecting does, whatever the update."""
        return self.is_inline

    @property
    def optimizers(self) -> tuple[FlatAdam, ...]:
        return (self.optimizer,)

    @staticmethod
    def part_steps(config: TrainConfig) -> int:
        """Env steps of what minibatches are drawn from: samples, of one each."""
        return 1

    @abstractmethod
    def learn(self, rollout: Rollout, rewards: Tensor, progress_fraction: Any) -> Metrics:
        """One update, with `rewards` [T, N] as they are to be learned from."""

    def update(self, rollout: Rollout, progress_fraction: Any) -> Metrics:
        """Learn from `rollout`; `progress_fraction` (0 to 1) is a number or a scalar tensor."""
        learned = self.learn(rollout, self.rewards_of(rollout), progress_fraction)
        metrics = {**learned, "updates/skipped": self.finite_updates.num_skipped + 0}
        if self.config.normalization.obs:
            # After the update: all of an iteration sees them through the same statistics.
            self.ranks.observe(self.policy, rollout.obs_in_pieces())
        return metrics

    def moving(self, checked: Tensor, moves: Tensor | None, rollout: Rollout) -> Tensor | None:
        """`moves`, or 0 where `checked` [] is not finite: then the minibatch moves nothing."""
        return self.finite_updates.moving(checked, moves, partial(origin_of, rollout))

    def take_notices(self) -> list[str]:
        if self.is_inline:
            self._notices += self.finite_updates.notices()
        taken, self._notices = self._notices, []
        return taken

    def compare(self, from_start: FromStart) -> dict[str, float]:
        self._notices += self.finite_updates.notices()  # the device is idle
        return super().compare(from_start)

    def with_obs(
        self, rollout: Rollout, drawn: Drawn, places_at: Callable[[Tensor], Tensor]
    ) -> Iterator[tuple[Tensor, Tensor | None, Tensor | None]]:
        """The minibatches `drawn` with their observations [..., D], or None where these lie with
        everything else. `places_at` is `HostMinibatches.of`'s.
        """
        if rollout.places is None:
            for index, weights in drawn:
                yield index, weights, None
        else:
            yield from self._host_minibatches(rollout).of(drawn, places_at)

    def draw_from_now(self, rollout: Rollout) -> None:
        """What minibatches are drawn by, and from, is given to the device by now."""
        if rollout.places is not None:
            self._host_minibatches(rollout).draw_from_now()

    def _host_minibatches(self, rollout: Rollout) -> HostMinibatches:
        if self._fetching is None:
            most_samples = rollout.rewards.numel() // self.section.num_minibatches
            self._fetching = HostMinibatches(rollout, most_samples)
        return self._fetching

    def rewards_of(self, rollout: Rollout) -> Tensor:
        """Rewards [T, N] as the run wants them: cut, then centred, then scaled, and so taken into
        the statistics of each.
        """
        rewards, limit = rollout.rewards, self.config.normalization.reward_limit
        if limit:
            rewards = rewards.clamp(-limit, limit)
        if self.reward_centring:
            rewards = self.reward_centring.centred(rewards, rollout.valid)
        if self.reward_normalizer:
            rewards = self.reward_normalizer.normalized(rewards, rollout.dones, rollout.valid)
        return rewards

    @property
    def _reward_statistics(self) -> dict[str, nn.Module]:
        """Those that there are, as checkpoints call them."""
        every = {
            "reward_normalizer": self.reward_normalizer, "reward_centring": self.reward_centring,
        }  # fmt: skip
        return {name: module for name, module in every.items() if module}

    def flat_gradient(self, loss: Tensor) -> Tensor:
        """The loss's derivative by all parameters [P], in their order."""
        return flat_gradient(loss, self.parameters)

    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on but the policy; in main memory."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "finite_updates": self.finite_updates.state_dict(),
            **self.orders.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        if "finite_updates" in state:  # not before 0.3.0
            self.finite_updates.load_state_dict(state["finite_updates"])
        self.orders.load_state_dict(state)

    def state_besides(self) -> dict[str, Any]:
        """What a checkpoint has under names of their own: statistics of rewards, where there are
        any; in main memory.
        """
        return {
            name: {key: self._whole(module, key, x.cpu()) for key, x in module.state_dict().items()}
            for name, module in self._reward_statistics.items()
        }

    def _whole(self, module: Any, key: str, own: Tensor) -> Tensor:
        """A part of a module's state, of the rows of all ranks where it is of rows."""
        return self.ranks.gathered(own) if key == module.of_rows else own

    def load_state_besides(self, state: Mapping[str, Any]) -> None:
        """`state` is the whole checkpoint's."""
        for name, module in self._reward_statistics.items():
            saved = dict(state[name])
            saved[module.of_rows] = self.ranks.own_part(saved[module.of_rows])
            module.load_state_dict(saved)

    def forget_episodes(self) -> None:
        """The episodes under way are no more."""
        if self.reward_normalizer:
            self.reward_normalizer.returns.zero_()


def origin_of(rollout: Rollout) -> str:
    """Where an update from a `rollout` that is not finite comes from."""
    return origin_in_rollout(rollout) or "the networks themselves"
