"""What every algorithm has, whatever it learns from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from ..config import TrainConfig
from ..envs.spec import Spaces
from ..evaluation import FromStart
from ..networks.policy import Policy
from ..ranks.single import SINGLE, Ranks
from ..rollout import Rollout
from ..run.threads import Each
from .flat_adam import FlatAdam
from .schedules import scheduled

Metrics = Mapping[str, Any]  # numbers, or scalar tensors on the device


class UnderWay(NamedTuple):
    """An update that can be left after `num_done` of its `num_due` steps and continued later;
    `env_steps` were collected for it.
    """

    num_done: int
    num_due: int
    env_steps: int


class Algorithm(ABC):
    """A policy, and updates that improve it.

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
        num_threads: Callable[[], int] = lambda: 1,
        each: Each = map,
        ranks: Ranks = SINGLE,
    ) -> None:
        """`seed` is that of whatever an update draws. `tick` is called after every step of it.
        While `under_way` is set, `tick` may raise to leave the update, which is continued later.
        `num_threads` says how many PyTorch may have where results do not depend on it, and `each`
        goes through pieces of work, perhaps several at once. `ranks` learn together.
        """
        self.config, self.policy, self.seed = config, policy, seed
        self.is_inline, self._tick, self._num_threads = is_inline, tick, num_threads
        self._each, self.ranks = each, ranks
        self.num_ticks = 0
        self.under_way: UnderWay | None = None
        self.section = config.algorithm_section

    @staticmethod
    @abstractmethod
    def make_policy(config: TrainConfig, spec: Spaces, seed: int) -> Policy:
        """The policy of a configuration, its weights drawn from `seed`."""

    @abstractmethod
    def update(self, rollout: Rollout, progress_fraction: Any) -> Metrics:
        """Learn from `rollout`; `progress_fraction` (0 to 1) is a number or a scalar tensor."""

    @property
    def acting_teachers(self) -> Any:
        """Who takes some of the steps of rollouts, an `ActingTeachers`; None where nobody does."""
        return None

    def begin(self) -> None:
        """Before the very first collection, of those that say `begins`."""
        return

    def begin_iteration(self) -> bool:
        """Before each iteration, always on the host. Returns whether its `update` may learn: where
        the answers differ updates may differ as well, in what they do and in their metrics.
        """
        return True

    def warm_up(self, rollout: Rollout) -> None:
        """Have all compiled that torch.compile is asked to, by a `rollout` of anything. Nothing is
        learned.
        """
        return

    def explore(self, progress_fraction: Any) -> None:
        """Before each collection: what changes in exploring as the run goes on. Nothing here."""
        return

    def tick(self) -> None:
        """For after every piece of work."""
        self.num_ticks += 1
        self._tick()

    @property
    def uses_threads(self) -> bool:
        """Whether an update is given several, which then change nothing but its time."""
        return False

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

    def compare(self, from_start: FromStart) -> dict[str, float]:
        """Metrics of what was predicted of greedy episodes, beside how they went."""
        return {}

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """What updates move, each flat: in all ranks the same."""
        return (self.policy.flat_parameters,)

    @property
    def optimizers(self) -> tuple[FlatAdam, ...]:
        """Those that move networks."""
        return ()

    def take_notices(self) -> list[str]:
        """What people should be told of how learning goes, once each."""
        return []

    def learning_rate(self, progress_fraction: Any) -> Any:
        section = self.section
        return scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction)

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything the next update depends on but the policy; in main memory."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...

    def state_besides(self) -> dict[str, Any]:
        """What a checkpoint has under names of their own; in main memory."""
        return {}

    def load_state_besides(self, state: Mapping[str, Any]) -> None:
        """`state` is the whole checkpoint's."""
        return

    def forget_episodes(self) -> None:
        """The episodes under way are no more."""
        return


def flat_gradient(loss: Tensor, parameters: list[Any]) -> Tensor:
    """The loss's derivative by all `parameters` [P], in their order."""
    gradients = torch.autograd.grad(loss, parameters)
    return torch.cat([gradient.flatten() for gradient in gradients])


def scaled_down(gradients: Tensor, max_norm: float) -> Tensor:
    """Scale `gradients` in place to norm `max_norm` where theirs is larger; returns what it was."""
    norm: Tensor = gradients.norm()
    gradients.mul_((max_norm / (norm + 1e-8)).clamp(max=1.0))
    return norm
