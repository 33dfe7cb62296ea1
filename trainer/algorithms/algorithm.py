"""The base of every algorithm, and the settings that it gets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Required, TypedDict

import torch
from torch import Tensor

from ..config.sections.exploring import EpsilonGreedyConfig
from ..config.tables import NormalizationConfig
from ..distributed.process_group import LOCAL, ProcessGroup
from ..machine.threads import Each
from ..machine.values import Scalar, State
from ..memory.rollout import Rollout
from ..policies.policy import Policy
from ..returns.episodes import FromStart
from ..settings.policy import PolicyConfig
from ..settings.section import Schedule, Section
from ..spaces import Spaces
from .optimizer import FiniteUpdates, FlatAdam


@dataclass(frozen=True)
class LearnerSettings:
    """`section` holds the algorithm's own settings. `tables` holds the other tables that it brings,
    by name, such as `replay`. `num_rows` counts environments, or agents where an environment has
    several.
    """

    algorithm: str
    section: Any
    tables: Mapping[str, Section]
    policy: PolicyConfig
    normalization: NormalizationConfig
    seed: int
    num_rows: int
    rollout_steps: int
    compile: bool
    overlap: bool
    saves_replay: bool

    @property
    def rollout_size(self) -> int:
        """Env steps of one iteration, over all rows."""
        return self.num_rows * self.rollout_steps

    @property
    def part_steps(self) -> int:
        """Env steps per part that on-policy minibatches are drawn from: 1 for samples, the length
        of rows with a recurrent policy.
        """
        memory = self.policy.memory
        return (memory.horizon or self.rollout_steps) if memory.is_on else 1

    def table(self, name: str) -> Any:
        return self.tables[name]


Metrics = Mapping[str, Any]  # numbers, or scalar tensors on the device


class Options(TypedDict, total=False):
    """Options that the caller of an algorithm passes to it; see `Algorithm`."""

    seed: Required[int]
    is_inline: bool
    tick: Callable[[], None]
    num_threads: Callable[[], int]
    each: Each
    ranks: ProcessGroup


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
    finite_updates: FiniteUpdates
    num_updates: int | Tensor = 0  # the number of updates so far; 0 if not counted
    updates_per_iteration: int = 0  # where each iteration makes as many

    def __init__(
        self,
        settings: LearnerSettings,
        policy: Policy,
        *,
        seed: int,
        is_inline: bool = True,
        tick: Callable[[], None] = lambda: None,
        num_threads: Callable[[], int] = lambda: 1,
        each: Each = map,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        """`seed` is the seed of all draws of updates. `tick` is called after every step of an
        update; while `under_way` is set it may raise to leave the update, which is continued later.
        `num_threads` returns how many threads PyTorch may use where results do not depend on it.
        `each` maps a function over pieces of work, perhaps several at once. `ranks` learn together.
        """
        self.settings, self.policy, self.seed = settings, policy, seed
        self.is_inline, self._tick, self._num_threads = is_inline, tick, num_threads
        self._each, self.ranks = each, ranks
        self.num_ticks = 0
        self._notices: list[str] = []
        self.under_way: UnderWay | None = None
        self.section = settings.section

    @staticmethod
    @abstractmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> Policy:
        """The policy of a configuration, its weights drawn from `seed`."""

    @abstractmethod
    def update(self, rollout: Rollout, progress_fraction: Scalar) -> Metrics:
        """Learn from `rollout`; `progress_fraction` (0 to 1) is a number or a scalar tensor."""

    def begin(self) -> None:
        """Called before the very first collection if the class sets `begins`."""
        return

    def begin_iteration(self) -> bool:
        """Called before each iteration, always on the host. Returns whether its `update` may learn:
        if the answers differ, updates may differ too, in their work and in their metrics.
        """
        return True

    def warm_up(self, rollout: Rollout) -> None:
        """Compile all that torch.compile is to compile, by a `rollout` of any content. Nothing is
        learned.
        """
        return

    def explore(self, progress_fraction: Scalar) -> None:
        """Called before each collection: adjust exploration to the progress of the run."""
        return

    def tick(self) -> None:
        """Call this after every piece of work."""
        self.num_ticks += 1
        self._tick()

    @property
    def uses_threads(self) -> bool:
        """Whether an update may use several threads, which then change only its time."""
        return False

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled loops that an update calls, in the order of their first calls."""
        return ()

    @property
    def pretraining_env_steps(self) -> int:
        """Env steps that were learned from before the first rollout."""
        return 0

    @property
    def work_done(self) -> int:
        """A number that changes with every step of learning, also within an update."""
        return self.num_ticks

    def compare(self, from_start: FromStart) -> dict[str, float]:
        """Metrics that compare predicted with actual returns of greedy episodes."""
        return {}

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """The flat weights that updates move; they are the same in all ranks."""
        return (self.policy.flat_parameters,)

    @property
    def optimizers(self) -> tuple[FlatAdam, ...]:
        """The optimizers of networks."""
        return ()

    def take_notices(self) -> list[str]:
        """New notices about how learning goes, each returned once."""
        taken, self._notices = self._notices, []
        return taken

    def learning_rate(self, progress_fraction: Scalar) -> Scalar:
        section = self.section
        return scheduled(section.learning_rate, section.learning_rate_schedule, progress_fraction)

    @abstractmethod
    def state_dict(self) -> State:
        """All state that the next update depends on except the policy; in main memory."""

    @abstractmethod
    def load_state_dict(self, state: State) -> None: ...

    def extra_state(self) -> State:
        """State that a checkpoint holds at its top level, by name; in main memory."""
        return {}

    def load_extra_state(self, state: State) -> None:
        """`state` is the whole checkpoint's."""
        return

    def forget_episodes(self) -> None:
        """Called when all current episodes were dropped."""
        return


def scheduled(start: float, schedule: Schedule, progress_fraction: Scalar) -> Scalar:
    """The value of a schedule that begins at `start` after `progress_fraction` (0 to 1) of the run:
    a number, or a scalar tensor if the fraction is a tensor.
    """
    if schedule == "linear":
        return start * (1 - progress_fraction)
    if schedule == "cosine":
        return start * 0.5 * (1 + _cosine(math.pi * progress_fraction))
    return start + 0 * progress_fraction


def _cosine(angle_rad: Scalar) -> Scalar:
    return torch.cos(angle_rad) if isinstance(angle_rad, Tensor) else math.cos(angle_rad)


def epsilon_at(section: EpsilonGreedyConfig, progress_fraction: Scalar) -> Scalar:
    """The probability of random actions after `progress_fraction` (0 to 1) of the run: a number, or
    a scalar tensor if the fraction is a tensor.
    """
    left = 1 - progress_fraction / section.epsilon_fraction
    left = left.clamp(min=0) if isinstance(left, Tensor) else max(left, 0.0)
    return section.epsilon_end + (section.epsilon_start - section.epsilon_end) * left
