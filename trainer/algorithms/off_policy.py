"""The base of all algorithms that learn from replay."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..distributed.process_group import ProcessGroup
from ..distributed.replay_state import own_state, rank_seed, state_of_all
from ..jit.graphs import repeat
from ..machine.threads import torch_threads
from ..machine.values import Scalar, State
from ..memory.replay import Batch, Priorities, Replay
from ..memory.rollout import Rollout
from ..memory.samplers import importance_exponent
from ..policies.actor import Actor
from ..policies.draws import Kind, make_draws
from ..policies.network import Network
from ..policies.normalizers import observe
from ..policies.q_network import QPolicy
from ..returns.episodes import FromStart
from .algorithm import Algorithm, LearnerSettings, Metrics, UnderWay, epsilon_at
from .optimizer import FiniteUpdates, origin_in_rollout, origin_of_nan, set_count

SAID_FROM_BYTES = 2**30  # of a replay
MOST_UPDATES_IN_GRAPH = 16
MOST_SAMPLES_SHARED = 512  # of a minibatch; from 1,024 on some sums depend on the number of threads
ADAM_EPSILON = 1e-8  # PyTorch's own, as is usual for this family


class ReplayRatio:
    """Turns numbers of transitions into numbers of updates; fractions of updates are carried over.
    Works with numbers on the host or with scalar tensors on a device.
    """

    def __init__(
        self, updates_per_transition: float, at_once: int = 1, device: torch.device | None = None
    ) -> None:
        """Updates come in multiples of `at_once`."""
        self._ratio, self._at_once = updates_per_transition, at_once
        self.owed: Any = 0.0
        if device is not None:
            self.owed = torch.zeros((), dtype=torch.float64, device=device)

    def due(self, num_transitions: Any) -> Any:
        """The number of updates for these transitions and for the fraction carried over."""
        self.owed += self._ratio * num_transitions
        # What is short of a whole number by rounding is one.
        num_updates = (self.owed / self._at_once + 1e-6) // 1 * self._at_once
        self.owed -= num_updates
        return num_updates if isinstance(num_updates, Tensor) else int(num_updates)

    def load(self, owed: float) -> None:
        """Continue with a carried-over fraction of an update."""
        if isinstance(self.owed, Tensor):
            self.owed.fill_(owed)
        else:
            self.owed = float(owed)


def make_replay(
    settings: LearnerSettings,
    policy: Actor | QPolicy,
    seed: int,
    device: torch.device,
    ranks: ProcessGroup,
) -> Replay:
    """The replay of a configuration: of several ranks each has one of its own environments, which
    is as long as that of a single process. Raises ConfigError where it does not fit into memory.
    """
    table, section = settings.table("replay"), settings.section
    alpha, num_rows = table.priority_exponent, len(ranks.my_rows(settings.num_rows))
    return Replay(
        table.capacity // settings.num_rows * num_rows if ranks.size > 1 else table.capacity,
        num_rows, policy.obs_size, policy.action_shape, policy.action_dtype,
        n_step=section.n_step, gamma=section.gamma, seed=rank_seed(ranks, seed), device=device,
        priorities=Priorities(alpha) if alpha else None, pinned=table.memory == "host",
        **policy.stored_obs,
    )  # fmt: skip


class OffPolicy(Algorithm):
    """Every iteration's steps go into a replay, and its updates draw minibatches from all of it.

    Until there are `warmup_env_steps` actions are random and nothing is learned. An inline update
    does the updates that are due. A captured one does those of a full rollout, in blocks that are
    replayed one after the other; where some of its env steps were dead, fewer are due, and the rest
    move nothing.
    """

    policy: Actor | QPolicy
    # Attributes that a checkpoint holds: networks, tensors of weights, optimizers, loss scales.
    saved: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: LearnerSettings, policy: Actor | QPolicy, **options: Any) -> None:
        """`options` are `Algorithm`'s; the seed is that of what is drawn, and `tick` is called
        after every update. Raises ConfigError where the replay does not fit into memory.
        """
        super().__init__(settings, policy, **options)
        device = policy.flat_parameters.device
        self.replay = make_replay(settings, policy, self.seed, device, self.ranks)
        self._samples = own_samples(self.section.batch_size, self.ranks)
        self.share_of_batch = len(self._samples) / self.section.batch_size
        self.batch = self.replay.make_batch(len(self._samples))
        # The first seed is that of all weights but the policy's.
        self.first_seed, *seeds = np.random.SeedSequence(self.seed).generate_state(4).tolist()
        self.draws = {
            name: make_draws(kind, shape, seed, device, self.is_inline)
            for (name, (kind, shape)), seed in zip(self.drawn().items(), seeds, strict=False)
        }
        self.num_updates_each: int = self.section.num_updates(settings.rollout_size)
        section = self.section
        self.ratio = ReplayRatio(
            section.updates_per_env_step,
            section.updates_at_once,
            None if self.is_inline else device,
        )
        # Numbers where the host runs every update; on the device where graphs do.
        self.num_updates: Any = 0 if self.is_inline else zero_count(device)
        self.env_steps: Any = 0 if self.is_inline else zero_count(device)  # of this replay
        self._env_steps_before = 0  # in a replay that was not kept
        self._most_env_steps = 0  # of this replay, as the host counts them: dead ones too
        self._may_learn = True
        self._block = largest_divisor(
            self.num_updates_each, MOST_UPDATES_IN_GRAPH, section.updates_at_once
        )
        self._means: dict[str, Tensor] = {}  # over the blocks of an iteration
        self.finite_updates = FiniteUpdates(self.is_inline, device)
        self._num_rows_each = settings.rollout_size
        if self.replay.nbytes >= SAID_FROM_BYTES:
            size = f"{self.replay.nbytes / 2**30:,.1f} GiB of memory"
            capacity = settings.table("replay").capacity
            self._notices.append(f"the replay will take {size} for {capacity:,} transitions")
        self._has_refused = self._has_left_out = False

    def drawn(self) -> dict[str, tuple[Kind, tuple[int, ...]]]:
        """The random numbers of an update, at most three: by name their kind and shape."""
        return {}

    def next_draw(self, name: str, dim: int = 0) -> Tensor:
        """The next random numbers of that name, of the samples of the minibatch that this rank
        draws; they lie along `dim`.
        """
        return self.draws[name].next().narrow(dim, self._samples.start, len(self._samples))

    @abstractmethod
    def learn(
        self, batch: Batch, number: int, rate: Any, active: Tensor | None
    ) -> tuple[Metrics, Tensor]:
        """One update, the iteration's `number`th; nothing moves where `active` [] is 0.

        Returns metrics, and the samples' priorities [B]: how far they were from their targets. Of
        several ranks the metrics are those of the whole minibatch, the priorities this rank's.
        """

    @property
    def weights(self) -> tuple[Tensor, ...]:
        parts = (flat(getattr(self, name)) for name in self.saved)
        return (*super().weights, *(x for x in parts if x is not None))

    @property
    def loops(self) -> tuple[Any, ...]:
        return self.replay.loops

    @property
    @abstractmethod
    def is_exact_with_threads(self) -> bool:
        """Whether PyTorch may have several threads in an update, because its results are the same
        bit for bit with any number.
        """

    @property
    def uses_threads(self) -> bool:
        return self.is_exact_with_threads

    def begin_iteration(self) -> bool:
        if not self.is_inline:  # else the host knows exactly, in time
            self._most_env_steps += self._num_rows_each
            self._may_learn = self._most_env_steps >= self.section.warmup_env_steps
        return self._may_learn

    @property
    def is_warm(self) -> Any:
        """Whether there are enough env steps to learn from: a bool, or a tensor on the device."""
        return self.env_steps >= self.section.warmup_env_steps

    @property
    def explores_at_random(self) -> Any:
        """Whether actions are still random, before `warmup_env_steps`: a bool, or a tensor on the
        device. After a resume without its replay, the current policy fills the replay.
        """
        return self.env_steps + self._env_steps_before < self.section.warmup_env_steps

    def explore(self, progress_fraction: Scalar) -> None:
        """Act at random during warm-up, then with a probability that falls over the run."""
        epsilon, at_random = epsilon_at(self.section, progress_fraction), self.explores_at_random
        if self.is_inline:
            epsilon = 1.0 if at_random else epsilon
        else:
            epsilon = torch.where(at_random, 1.0, epsilon)
        self.policy.epsilon.copy_(torch.as_tensor(epsilon))

    def update(self, rollout: Rollout, progress_fraction: Scalar) -> Metrics:
        """Learn from `rollout`, or make the rest of the updates `under_way`."""
        if self.under_way:
            num_done, num_due, num_env_steps = self.under_way
            self.under_way = None
        else:
            num_done = 0
            num_due, num_env_steps = self._take_in(rollout)
        with torch_threads(self._num_threads() if self.is_exact_with_threads else 1):
            metrics = self._learn_all(num_done, num_due, num_env_steps, progress_fraction)
        if self.is_inline:
            self.look()
        ratio = num_due / num_env_steps if not self.is_inline or num_due else 0.0
        return {
            **metrics, **self.replay.metrics(),
            "updates/count": self.num_updates + 0,
            "updates/per_env_step": ratio,
            "updates/skipped": self.finite_updates.num_skipped + 0,
            "replay/left_out": self.ranks.sum(self.replay.num_left_out.clone()),
            "exploration/epsilon": self.policy.epsilon,
        }  # fmt: skip

    def _take_in(self, rollout: Rollout) -> tuple[Any, Any]:
        """Write `rollout` to the replay; returns how many updates are due, and its env steps."""
        self.replay.write(rollout)
        if self.is_inline:
            self._notice_left_out(rollout)
        num_env_steps = self._count(rollout)
        self.env_steps += num_env_steps
        if self.settings.normalization.obs:
            obs = rollout.valid_of(rollout.obs[:-1])
            observe(self.policy.normalizer, [obs], self.ranks)
        # Before it is warm nothing is due, and nothing is owed later.
        return self.ratio.due(num_env_steps * self.is_warm), num_env_steps

    def _count(self, rollout: Rollout) -> Any:
        """Env steps of a rollout of all ranks: on the host, or on the device where some may be
        dead.
        """
        if rollout.valid is None:
            return self._num_rows_each
        num_valid = self.ranks.sum(rollout.valid.sum())
        return int(num_valid) if self.is_inline else num_valid

    def _learn_all(
        self, num_done: int, num_due: Any, num_env_steps: Any, progress_fraction: Scalar
    ) -> Metrics:
        """The updates that are due after those done, and the means of their metrics."""
        if not self._may_learn or (self.is_inline and not num_due):
            return {}
        rate: Any = self.learning_rate(progress_fraction)
        beta = importance_exponent(progress_fraction)
        if self.is_inline:
            means = self._learn_in_turn(num_done, num_due, num_env_steps, rate, beta)
        else:
            means = self._learn_in_blocks(num_due, rate, beta)
        return {**means, "optimizer/learning_rate": rate}

    def _learn_in_turn(
        self, num_done: int, num_due: int, num_env_steps: int, rate: float, beta: float
    ) -> Metrics:
        """The updates that are due; `tick` may leave after each, and `under_way` says the rest."""
        metrics = []
        for number in range(num_done, num_due):
            metrics.append(self._learn_once(number, rate, beta, None))
            if number + 1 < num_due:
                self.under_way = UnderWay(number + 1, num_due, num_env_steps)
            self.tick()
            self.under_way = None
        return _means(metrics)

    def _learn_in_blocks(self, num_due: Tensor, rate: Any, beta: Any) -> Metrics:
        """Make the largest possible number of updates; those that are not due move nothing."""
        num_left, num_blocks = num_due.clone(), self.num_updates_each // self._block
        for mean in self._means.values():
            mean.zero_()

        def block() -> None:
            metrics = []
            for number in range(self._block):
                active = (num_left > number).float()
                metrics.append(self._learn_once(number, rate, beta, active))
                self.tick()
            for name, mean in _means(metrics).items():
                if name not in self._means:  # the first time, which is never captured
                    self._means[name] = torch.zeros_like(mean)
                self._means[name] += mean / num_blocks
            num_left.sub_(self._block)

        repeat(num_blocks, block)
        return self._means

    def _learn_once(self, number: int, rate: Any, beta: Any, active: Tensor | None) -> Metrics:
        """One update from a new minibatch; nothing moves where `active` [] is 0."""
        batch = self.replay.sample(self.batch, beta)
        metrics, errors = self.learn(batch, number, rate, active)
        self.replay.update_priorities(batch.index, errors)
        self.num_updates += 1 if active is None else active.long()
        return metrics

    def _notice_left_out(self, rollout: Rollout | None) -> None:
        """Say once that transitions were left out of the replay, and which number of `rollout` was
        the first.
        """
        if self._has_left_out or not int(self.replay.num_left_out):
            return
        self._has_left_out = True
        origin = origin_in_rollout(rollout) if rollout else ""
        notice = "transitions were left out of the replay, since not all their numbers are finite"
        notice = f"{notice}: {origin}" if origin else notice
        self._notices.append(f"{notice}; replay/left_out counts them")

    def look(self) -> None:
        """Collect new notices; waits for the device."""
        self._notice_left_out(None)
        self._notice_refused_updates()
        self._notices += self.finite_updates.notices()

    def moving(self, checked: Tensor, moves: Tensor | None, batch: Batch) -> Tensor | None:
        """`moves`, or 0 where `checked` [] is not finite: then the update moves nothing."""
        return self.finite_updates.moving(checked, moves, lambda: origin_of_nan(batch, self.ranks))

    def _notice_refused_updates(self) -> None:
        """Add a notice, once, that priorities were not updated because errors were not finite."""
        if not self._has_refused and int(self.replay.num_refused):
            self._has_refused = True
            self._notices.append(
                f"an update of priorities was refused among the first {self.num_updates} updates: "
                "distances from the target were not finite; replay/refused_updates counts on"
            )

    def move_target(self, target: Network, network: Network, active: Tensor | None) -> None:
        """Move a target network by a part of the way; not at all where `active` [] is 0."""
        tau = self.section.target_tau
        if active is not None:
            target.flat_parameters.lerp_(network.flat_parameters, tau * active)
        else:
            target.follow(network, tau)

    @abstractmethod
    def greedy_values(self, obs: Tensor) -> Tensor:
        """Predicted discounted returns [B] of greedy episodes from `obs` [B, D]."""

    @torch.inference_mode()
    def compare(self, from_start: FromStart) -> dict[str, float]:
        """How far predicted values exceed the returns that followed. If a limit cut an episode
        short, its return includes the value of the last state.
        """
        self.look()  # the device is idle
        device = self.policy.flat_parameters.device
        first, last = (
            self.greedy_values(torch.from_numpy(obs).to(device)).double().cpu().numpy()
            for obs in (from_start.obs, from_start.left_obs)
        )
        returns = from_start.returns + from_start.left_discounts * last
        return {"value/overestimation": float((first - returns).mean())}

    def state_dict(self) -> State:
        """Everything the next update depends on but the policy; in main memory."""
        state: dict[str, Any] = {
            "num_updates": int(self.num_updates), "env_steps": int(self.env_steps),
            "env_steps_before": self._env_steps_before, "updates_owed": float(self.ratio.owed),
            "finite_updates": self.finite_updates.state_dict(),
            "left_out": int(self.ranks.sum(self.replay.num_left_out.clone())),
            "draws": {name: draws.state_dict() for name, draws in self.draws.items()},
            **{name: state_of(getattr(self, name)) for name in self.saved},
        }  # fmt: skip
        if not self.settings.saves_replay:
            return state
        return {
            **state,
            "under_way": [*self.under_way] if self.under_way else None,
            "replay": state_of_all(self.ranks, self.replay.state_dict()),
        }

    def load_state_dict(self, state: State) -> None:
        self.num_updates = set_count(self.num_updates, state["num_updates"])
        self.ratio.load(state.get("updates_owed", 0.0))
        self.finite_updates.load_state_dict(state["finite_updates"])
        num_left_out = int(state.get("left_out", 0))
        self.replay.num_left_out.fill_(0 if self.ranks.rank else num_left_out)  # ranks are summed
        self._has_left_out = num_left_out > 0
        for name, draws in self.draws.items():
            draws.load_state_dict(state["draws"][name])
        for name in self.saved:
            load_state(getattr(self, name), state[name])
        if "replay" in state:
            self.env_steps = set_count(self.env_steps, state["env_steps"])
            self._env_steps_before = int(state["env_steps_before"])
            self.replay.load_state_dict(own_state(self.ranks, state["replay"]))
            self._most_env_steps = int(state["replay"]["written"]) * self.settings.num_rows
            # Graphs make whole updates alone: on a device it is collected for the rest again.
            left = state.get("under_way") if self.is_inline else None
            self.under_way = UnderWay(*map(int, left)) if left else None
        else:
            self._env_steps_before = int(state["env_steps"]) + int(state["env_steps_before"])
            self._notices.append(
                "the checkpoint has no replay: "
                f"{self.section.warmup_env_steps} env steps with the policy as it is fill it anew "
                "before learning goes on"
            )

    def forget_episodes(self) -> None:
        self.replay.end_episodes()


def flat(part: Any) -> Tensor | None:
    """The flat weights of a network or a tensor of weights; None for other attributes."""
    weights = part.flat_parameters if isinstance(part, Network) else part
    return weights if isinstance(weights, Tensor) else None


def state_of(part: Any) -> Any:
    """The state of one of the attributes `OffPolicy.saved`, in main memory."""
    weights = flat(part)
    return part.state_dict() if weights is None else weights.cpu().clone()


def load_state(part: Any, state: Any) -> None:
    """Restore what `state_of` returned."""
    weights = flat(part)
    if weights is None:
        part.load_state_dict(state)
    else:
        weights.copy_(state)


def own_samples(batch_size: int, ranks: ProcessGroup) -> range:
    """The samples of a minibatch that this rank draws: as many as the others, or one more."""
    first, rest = divmod(batch_size, ranks.size)
    start = ranks.rank * first + min(ranks.rank, rest)
    return range(start, start + first + (ranks.rank < rest))


def largest_divisor(number: int, most: int, multiple_of: int) -> int:
    """The largest divisor of `number` that is a multiple of `multiple_of`, which divides it as
    well, and is no larger than `most` where there is such a one.
    """
    units = number // multiple_of
    fitting = [n for n in range(1, most // multiple_of + 1) if units % n == 0]
    return multiple_of * max(fitting, default=1)


def _means(metrics: Sequence[Metrics]) -> Metrics:
    """The mean of each metric over the updates that give it."""
    lists: dict[str, list[Any]] = {}
    for each in metrics:
        for name, value in each.items():
            lists.setdefault(name, []).append(value)
    return {name: torch.stack(values).mean() for name, values in lists.items()}


def zero_count(device: torch.device) -> Tensor:
    return torch.zeros((), dtype=torch.int64, device=device)
