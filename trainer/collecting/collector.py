"""Stepping environments with a policy, in PyTorch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from ..algorithms.algorithm import Metrics
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.states import gather_state, slice_state
from ..envs.spaces import named_leaves
from ..envs.vector import VectorEnv
from ..envs.workers.hosted import HostedEnvs
from ..machine.threads import Each, available_cores, loop_threads, one_torch_thread
from ..machine.values import State
from ..memory.rollout import ALL, Rollout
from ..policies.draws import set_generator
from ..policies.normalizers import numbers_of
from ..policies.policy import Policy, first_state
from ..policies.recurrent_actor_critic import RecurrentActorCritic
from ..spaces import num_numbers
from ..spaces.encoders import Part

if TYPE_CHECKING:
    from ..envs.hosts import AnyEnvs


ROWS_AT_ONCE = 512  # of whose actions a thread chooses
LEAST_ROWS_WITH_MEMORY = 128  # which is more work for each


class CollectsRollouts(Protocol):
    """The interface between an experiment and the collector of its rollouts."""

    rollout: Rollout

    @property
    def loops(self) -> Sequence[Any]:
        """The compiled loops that are called, in the order of their first calls."""

    @property
    def env_steps_under_way(self) -> int:
        """Env steps of the current collection, if the host knows."""

    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""

    @property
    def details(self) -> Metrics:
        """Further metrics of the rollout."""

    def take_notices(self) -> Sequence[str]:
        """New notices about episodes, each returned once."""

    def take_episode_totals(self) -> Tensor:
        """Count, summed return and summed length of the episodes that ended since the last call:
        [3] float64, where the rollout is.
        """

    @property
    def resumes_exactly(self) -> bool:
        """Whether a checkpoint holds the episodes under way."""

    def state_dict(self) -> State:
        """Everything the next collection depends on."""

    def load_state_dict(self, state: State) -> None: ...

    def close(self) -> None: ...


class RowStates:
    """The state `now` [N, S] of every row before its next step; moved in place, so that a captured
    graph finds it. Without memory S is 0, and nothing is done.

    Who collects owns one: evaluations have states of their own.
    """

    def __init__(self, policy: Policy, rollout: Rollout) -> None:
        self._rollout = rollout
        num_steps, num_rows = rollout.rewards.shape
        self._horizon = policy.horizon or num_steps
        self.now = first_state(policy, num_rows, rollout.rewards.device)

    def before(self, t: int, rows: slice = ALL) -> Tensor:
        """The states before step `t`; the rollout keeps them where a piece of it begins."""
        states = self._rollout.states
        if states is not None and t % self._horizon == 0:
            states[t // self._horizon, rows] = self.now[rows]
        return self.now[rows]

    def after(self, t: int, states: Tensor, rows: slice = ALL) -> None:
        """Go on with the `states` that step `t` led to, anew where an episode ended in it."""
        if self._rollout.states is None:
            return
        now = self.now[rows]
        now.copy_(states)
        now.masked_fill_(self._rollout.resets(t, rows).unsqueeze(-1), 0.0)

    def forget(self) -> None:
        """All episodes are others now."""
        self.now.zero_()

    def state_dict(self) -> State:
        """In main memory; empty without memory."""
        return {} if self._rollout.states is None else {"memory": self.now.cpu().clone()}

    def load_state_dict(self, state: State) -> None:
        """`state` is the whole collector's."""
        if self._rollout.states is not None:
            self.now.copy_(torch.as_tensor(state["memory"]))


class Collector:
    """Steps environments on the processor with any policy."""

    loops: Sequence[Any] = ()
    details: Metrics = MappingProxyType({})

    def __init__(
        self,
        envs: AnyEnvs,
        policy: Policy,
        steps: int,
        seed: int,
        tick: Callable[[], None] = lambda: None,
        num_threads: Callable[[], int] = available_cores,
        each: Each = map,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        """`tick` is called after every step; `num_threads` share the environments, and `each` goes
        through pieces of what the policy has to do. The environments are those of one of `ranks`.
        """
        self.envs, self._policy, self._tick = envs, policy, tick
        self._num_threads, self._each, self._ranks = num_threads, each, ranks
        self._seed, self._generator = seed, torch.Generator().manual_seed(seed)
        self._steps_before = 0  # of each environment, in former rollouts
        self.env_steps_under_way = 0
        self.rollout = Rollout.empty(
            envs.spec.obs_size, steps, envs.num_rows, policy,
            has_dead_steps=envs.has_dead_steps, obs_type=envs.spec.obs_type,
        )  # fmt: skip
        self._states = RowStates(policy, self.rollout)
        # With memory a value is little beside the features that it is made from, which are here.
        self._with_memory = policy if isinstance(policy, RecurrentActorCritic) else None
        self.rollout.has_values = self._with_memory is not None
        self._pieces = pieces_of(envs, policy)
        self._bounds, self._notices = ObsBounds(envs.spec), list[str]()
        self._transitions = [self.rollout.transitions(t) for t in range(steps)]
        envs.reset(self.rollout.obs[-1].numpy())

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        rollout, policy = self.rollout, self._policy
        loop_threads(self._num_threads())
        rollout.obs[0] = rollout.obs[-1]
        noise = self._begin()
        for t, transitions in enumerate(self._transitions):
            states = self._act(t, noise[t])
            self.envs.step(policy.env_actions(rollout.actions[t]).numpy(), transitions)
            one_torch_thread()
            self._after(t, states)
            self.env_steps_under_way += self.envs.num_rows
            self._tick()
        self._finish()
        return rollout

    def _begin(self) -> Tensor:
        """The noise of all steps of a rollout: that of a step is the one of its place [t, n] among
        the rows of all ranks.
        """
        steps, num_rows = self.rollout.rewards.shape
        shape = (steps, self._ranks.global_size(num_rows))
        return self._ranks.my_slice(self._policy.noise(shape, self._generator), 1)

    def _act(self, t: int, noise: Tensor) -> Tensor:
        """Fill in what the policy does in step `t`; returns the states after it."""

        def act(rows: slice) -> Tensor:
            actions, log_probs, states = self._act_step(t, noise[rows], rows)
            self.rollout.remember(t, actions, log_probs, rows)
            return states

        states = list(self._each(act, self._pieces))
        return states[0] if len(states) == 1 else torch.cat(states)

    def _act_step(
        self, t: int, noise: Tensor, rows: slice = ALL
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """The results of the policy's `act_step` in step `t` of some rows."""
        obs, states = self.rollout.obs[t, rows], self._states.before(t, rows)
        acted = self._policy.act_step(obs, noise, states)
        if self._with_memory:
            self.rollout.values[t, rows] = self._with_memory.values_of_states(acted[2])
        return acted

    def _after(self, t: int, states: Tensor, rows: slice = ALL) -> None:
        """Go on with the `states` that step `t` led to, anew where an episode ended in it."""
        if self._with_memory:
            self._value_finals(t, states, rows)
        self._states.after(t, states, rows)

    def _value_finals(self, t: int, states: Tensor, rows: slice) -> None:
        """Fill in the values of what step `t` led to where a time limit cut an episode short."""
        rollout, policy = self.rollout, self._with_memory
        truncated = rollout.truncated[t, rows]
        if policy and truncated.any():
            final_obs = rollout.final_obs[t, rows][truncated]
            after = policy.step(final_obs, states[truncated])[1]
            rollout.next_values[t, rows][truncated] = policy.values_of_states(after)

    def _finish(self) -> None:
        """After the last step of a rollout."""
        rollout = self.rollout
        self._steps_before += len(rollout.rewards)
        self.env_steps_under_way = 0
        if self._with_memory:
            after = self._with_memory.step(rollout.obs[-1], self._states.now)[1]
            last = self._with_memory.values_of_states(after).unsqueeze(0)
            following = torch.cat([rollout.values[1:], last])
            torch.where(rollout.truncated, rollout.next_values, following, out=rollout.next_values)
        self._notices += self._bounds.notices(rollout)

    @property
    def resumes_exactly(self) -> bool:
        return self.envs.resumes_exactly

    def take_notices(self) -> Sequence[str]:
        taken, self._notices = self._notices, []
        return taken + list(self.envs.take_notices())

    def take_episode_totals(self) -> Tensor:
        return torch.tensor(self.envs.take_episode_totals(), dtype=torch.float64)

    def state_dict(self) -> State:
        """Everything the next collection depends on, here or on a GPU."""
        envs = self.envs.state_dict()
        return {
            "envs": gather_state(self._ranks, envs, -1) if self.envs.resumes_exactly else envs,
            "obs": self._ranks.gather(self.rollout.obs[-1].clone()),
            "steps_before": self._steps_before,
            "generator": self._generator.get_state(),
            **gather_state(self._ranks, self._states.state_dict(), 0),
        }

    def load_state_dict(self, state: State) -> None:
        if self.envs.resumes_exactly:
            self.envs.load_state_dict(slice_state(self._ranks, state["envs"], -1))
            self.rollout.obs[-1] = self._ranks.my_slice(state["obs"])
            memory = {name: state[name] for name in self._states.state_dict()}
            self._states.load_state_dict(slice_state(self._ranks, memory, 0))
        else:
            self.envs.load_state_dict(state["envs"])
            self._states.forget()
            self.envs.reset(self.rollout.obs[-1].numpy())
        self._steps_before = int(state.get("steps_before", 0))
        set_generator(self._generator, state, self._seed, self._steps_before)

    def close(self) -> None:
        self.envs.close()


def needs_one_piece(policy: Any) -> bool:
    """Whether a policy must choose the actions of all rows at once, because it explores with noise
    that it keeps for each row.
    """
    return bool(getattr(policy, "is_noisy", False))


def pieces_of(envs: Any, policy: Policy) -> list[slice]:
    """The rows whose actions are chosen at once, of whole environments: as many pieces whatever
    there are of threads, so that sums are rounded alike.
    """
    num_rows, num_envs = envs.num_rows, envs.num_envs
    if needs_one_piece(policy):
        return [slice(0, num_rows)]
    least = LEAST_ROWS_WITH_MEMORY if policy.state_size else ROWS_AT_ONCE
    count = min(max(num_rows // ROWS_AT_ONCE, min(2, num_rows // least), 1), num_envs)
    edges = [num_envs * i // count * (num_rows // num_envs) for i in range(count + 1)]
    return [slice(*each) for each in pairwise(edges)]


class SlicedCollector(Collector):
    """Steps each piece of the environments from the beginning of a rollout to its end: pieces wait
    for one another once in a rollout, and not in every step. If there are too few environments for
    several pieces, it steps all of them like `Collector`.

    The noise of a step belongs to its place [t, n], whatever piece n is in.
    """

    envs: VectorEnv

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments are those of `Collector`."""
        super().__init__(*arguments, **options)
        self._env_actions = self._policy.env_actions(self.rollout.actions[0]).clone()
        self._counting = threading.Lock()

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        if len(self._pieces) == 1:
            return super().collect()
        rollout = self.rollout
        rollout.obs[0] = rollout.obs[-1]
        noise, caller = self._begin(), threading.get_ident()

        def live(rows: slice) -> None:
            for t, transitions in enumerate(self._transitions):
                actions, log_probs, states = self._act_step(t, noise[t, rows], rows)
                rollout.remember(t, actions, log_probs, rows)
                self._env_actions[rows] = self._policy.env_actions(actions)
                self.envs.step_some(rows, self._env_actions.numpy(), transitions)
                self._after(t, states, rows)
                with self._counting:
                    self.env_steps_under_way += rows.stop - rows.start
                if threading.get_ident() == caller:  # who otherwise ticks while it waits
                    self._tick()

        for _ in self._each(live, self._pieces):
            pass
        self._finish()
        return rollout


class GroupedCollector(Collector):
    """Steps the k groups of `HostedEnvs` in order, each as soon as it has its actions.

    With t_policy for the actions of a group and t_step for its step, a step of all takes about
    max(k t_policy, t_policy + t_step), and not k t_policy + t_step. A rollout ends when all groups
    have come to its end, since an update changes the policy for all of them.

    The noise of a step is that of its place [t, n], whatever group n is in.
    """

    envs: HostedEnvs

    def __init__(self, envs: HostedEnvs, policy: Policy, *arguments: Any, **options: Any) -> None:
        """`arguments` and `options` are those of `Collector`."""
        assert not needs_one_piece(policy)  # the plan refuses it
        super().__init__(envs, policy, *arguments, **options)
        self._led_to = [torch.empty(0)] * len(envs.groups)  # of each group, states after its step

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        rollout, policy, envs = self.rollout, self._policy, self.envs
        rollout.obs[0] = rollout.obs[-1]
        noise = self._begin()
        for t in range(len(self._transitions)):
            for group, rows in enumerate(envs.groups):
                if t:
                    self._receive(group, t - 1)
                actions, log_probs, self._led_to[group] = self._act_step(t, noise[t, rows], rows)
                envs.send(group, policy.env_actions(actions).numpy())
                # While it steps.
                rollout.actions[t, rows] = actions
                if log_probs is not None:
                    rollout.log_probs[t, rows] = log_probs
        for group in range(len(envs.groups)):
            self._receive(group, len(self._transitions) - 1)
        self._finish()
        return rollout

    def _receive(self, group: int, t: int) -> None:
        """Receive the results of step `t` of a group."""
        rows = self.envs.groups[group]
        self.envs.receive(group, self._transitions[t])
        one_torch_thread()
        self._after(t, self._led_to[group], rows)
        self.env_steps_under_way += rows.stop - rows.start
        self._tick()


SLACK = 1e-5  # of a bound: float32 rounds


class Bounded(NamedTuple):
    """A part of observations and the bounds [size] of its numbers; `part` is None for the whole."""

    key: str
    part: Part | None
    low: Tensor
    high: Tensor


class ObsBounds:
    """Compares observations with their space. A part that was outside is not looked at again."""

    def __init__(self, spec: Any) -> None:
        """The environment of `spec` may have no space that is known: nothing is compared then."""
        self._size = num_numbers(spec)
        space = spec.obs_space
        leaves = [] if space is None else list(named_leaves(space))
        parts = spec.obs_parts or (None,) * len(leaves)
        self._bounded = [
            Bounded(key, part, _bound(each.low), _bound(each.high))
            for (key, each), part in zip(leaves, parts, strict=True)
            if hasattr(each, "low") and _can_be_outside(each, spec)
        ]

    def notices(self, rollout: Rollout) -> list[str]:
        """A line for each part that some observations of a rollout have outside."""
        if not self._bounded:
            return []
        ends = rollout.final_obs[rollout.dones]
        return [*self._outside(rollout.valid_of(rollout.obs[:-1])), *self._outside(ends)]

    def _outside(self, obs: Tensor) -> Iterator[str]:
        """A line for each part that some of `obs` [B, D] have outside."""
        if not len(obs):
            return
        for bounded in list(self._bounded):
            key, part, low, high = bounded
            numbers = obs[:, : self._size] if part is None else numbers_of(obs, part)
            least, most = (x.float() for x in numbers.aminmax(dim=0))
            below = least < low - SLACK * low.abs().clamp(min=1)
            above = most > high + SLACK * high.abs().clamp(min=1)
            if not (below | above).any():
                continue
            self._bounded.remove(bounded)
            number = int((below | above).int().argmax())
            value = (least if below[number] else most)[number]
            yield (
                f"an observation{key and ' ' + key} is outside of its space: number {number} is "
                f"{value:g}, and goes from {low[number]:g} to {high[number]:g}; it is used as it is"
            )


def _bound(bounds: Any) -> Tensor:
    return torch.from_numpy(np.asarray(bounds, np.float32).reshape(-1))


def _can_be_outside(space: Any, spec: Any) -> bool:
    """Whether rows of observations can have numbers beyond the bounds of one of their parts."""
    if spec.obs_type is np.uint8 and space.dtype == np.uint8:
        return bool(space.low.any() or (space.high != 255).any())
    return any(bool(np.isfinite(each).any()) for each in (space.low, space.high))
