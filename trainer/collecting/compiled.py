"""A whole rollout as one compiled loop: policy, actions, environments, values.

A shard of environments goes from its first step to its last on one thread, and what it gives
depends on its own environments alone, so the number of threads changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import prange
from numpy.typing import NDArray
from torch import Tensor

from ..algorithms.algorithm import Metrics
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.states import gather_state, slice_state
from ..envs.bindings import num_agents, step_range
from ..envs.spec import EnvSpec
from ..envs.vector import Transitions, VectorEnv, compile_loops
from ..jit.compiling import compiled, specialised, specialised_part
from ..jit.normalizing import normalize_rows
from ..machine.threads import Threads, shards
from ..machine.values import State
from ..memory.rollout import Rollout
from ..policies.actor_critic import ActorCritic
from ..policies.compiled.heads import Head, head_of
from ..policies.compiled.heads.bindings import sample
from ..policies.compiled.log_stds import append_log_stds
from ..policies.compiled.networks import CHUNK, forward, pack
from ..policies.compiled.policy_arrays import policy_arrays

Array = NDArray[Any]


class Memory(NamedTuple):
    """The arrays of a `Rollout`, time first, and this step's actions as environments take them."""

    obs: Array
    actions: Array
    rewards: Array
    terminated: Array
    truncated: Array
    final_obs: Array
    log_probs: Array
    values: Array
    next_values: Array
    valid: Array
    env_actions: Array


class CompiledCollector:
    """Gathers rollouts with their values, on all cores and without Python between the steps."""

    details: Metrics = MappingProxyType({})
    resumes_exactly = True

    def __init__(
        self,
        envs: VectorEnv,
        policy: ActorCritic,
        steps: int,
        threads: Threads,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        """The environments are those of one of `ranks`."""
        self.envs, self._policy, self._threads, self._ranks = envs, policy, threads, ranks
        self.rollout = Rollout.empty(
            envs.spec.obs_size, steps, envs.num_rows, policy, has_dead_steps=envs.has_dead_steps
        )
        all_valid = torch.ones_like(self.rollout.terminated)
        env_actions = policy.distribution.env_actions(self.rollout.actions[0]).clone().numpy()
        self.rollout.has_values = True
        arrays = [getattr(self.rollout, name).numpy() for name in Memory._fields[:-2]]
        valid = all_valid if self.rollout.valid is None else self.rollout.valid
        self._memory = Memory._make([*arrays, valid.numpy(), env_actions])
        self._shards = shards(envs.num_envs, CHUNK // min(CHUNK, envs.spec.num_agents))
        self._progress = np.zeros(len(self._shards), np.int64)
        self._steps_before = 0  # of each environment, in former rollouts
        self._collect = compile_collect(envs.spec, head_of(policy.distribution))
        envs.reset(self._memory.obs[-1])

    @property
    def env_steps_under_way(self) -> int:
        """Env steps of the collection that is going on."""
        return int(self._progress.sum())

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled loops that are called, in the order of their first calls."""
        return self.envs.loops.reset, self._collect

    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        envs, memory = self.envs, self._memory
        memory.obs[0] = memory.obs[-1]
        self._threads.run(
            self._collect,
            self._shards,
            self._steps_before,
            envs.state,
            envs.totals,
            envs.source,
            memory,
            policy_arrays(self._policy),
            self._progress,
        )
        self._steps_before += len(memory.rewards)
        self._progress[:] = 0
        return self.rollout

    def take_notices(self) -> Sequence[str]:
        return self.envs.take_notices()

    def take_episode_totals(self) -> Tensor:
        """Count, summed return and summed length of the episodes that ended since the last call."""
        return torch.tensor(self.envs.take_episode_totals(), dtype=torch.float64)

    def state_dict(self) -> State:
        """Everything the next collection depends on."""
        return {
            "envs": gather_state(self._ranks, self.envs.state_dict(), -1),
            "obs": self._ranks.gather(self.rollout.obs[-1].clone()),
            "steps_before": self._steps_before,
        }

    def load_state_dict(self, state: State) -> None:
        self.envs.load_state_dict(slice_state(self._ranks, state["envs"], -1))
        self.rollout.obs[-1] = self._ranks.my_slice(state["obs"])
        self._steps_before = int(state["steps_before"])

    def close(self) -> None:
        pass


@cache
def compile_collect(spec: EnvSpec, head: Head) -> Callable[..., None]:
    """The loop over one environment's rollouts with one distribution."""
    label = f"{spec.name}_{head.label}"
    bindings = {
        "act": specialised_part(act, label, sample=head.sample, num_agents=spec.num_agents),
        "num_agents": spec.num_agents,
        "step_range": compile_loops(spec).step_range,
    }
    return specialised(collect_template, label, parallel=True, **bindings)


def collect_template(shards, steps_before, state, totals, source, memory, policy, progress):
    """Fill `memory` with one rollout; `progress` [shards] counts env steps as they are done."""
    pack(policy.parameters, policy.actor, policy.panels)
    pack(policy.parameters, policy.critic, policy.panels)
    for shard in prange(len(shards)):
        start, stop = shards[shard, 0], shards[shard, 1]
        first_row, last_row = start * num_agents, stop * num_agents
        x = np.zeros((CHUNK, policy.width), np.float32)
        outputs_of = np.zeros((len(policy.actor), CHUNK, policy.width), np.float32)
        for t in range(len(memory.rewards)):
            act(first_row, last_row, t, steps_before + t, source, memory, policy, x, outputs_of)
            out = Transitions(
                memory.obs[t + 1],
                memory.rewards[t],
                memory.terminated[t],
                memory.truncated[t],
                memory.final_obs[t],
                memory.valid[t],
            )
            step_range(start, stop, state, totals, source, memory.env_actions, out)
            progress[shard] += last_row - first_row
        write_values(first_row, last_row, memory, policy, x, outputs_of)


def act(start, stop, t, step, source, memory, policy, x, outputs_of):
    """Draw the actions of step `t` in rows `start` to `stop`, and keep their log-probabilities."""
    actor = policy.actor
    outputs = outputs_of[len(actor) - 1]
    for first in range(start, stop, CHUNK):
        rows = min(CHUNK, stop - first)
        normalize_rows(memory.obs[t], first, rows, policy, x, 0)
        forward(x, rows, policy.parameters, policy.panels, actor, policy.activation, outputs_of)
        append_log_stds(outputs, rows, policy)
        for row in range(rows):
            place = first + row
            random = (step, source.first_env * num_agents + place, source.seed)
            memory.log_probs[t, place] = sample(
                outputs,
                row,
                policy.num_outputs,
                policy.table,
                random,
                place,
                memory.actions[t],
                memory.env_actions,
            )


@compiled
def write_values(start, stop, memory, policy, x, outputs_of):
    """V of all states in rows `start` to `stop` and of those that their steps led to, the bootstrap
    values, both [T, R] float32 in `memory`.
    """
    values = outputs_of[len(policy.critic) - 1]
    steps = len(memory.rewards)
    for t in range(steps + 1):
        for first in range(start, stop, CHUNK):
            rows = min(CHUNK, stop - first)
            normalize_rows(memory.obs[t], first, rows, policy, x, 0)
            evaluate(x, rows, policy, outputs_of)
            for row in range(rows):
                if t < steps:
                    memory.values[t, first + row] = values[row, 0]
                if t > 0:
                    memory.next_values[t - 1, first + row] = values[row, 0]
    write_final_values(start, stop, memory, policy, x, outputs_of)


@compiled
def write_final_values(start, stop, memory, policy, x, outputs_of):
    """After a time limit the bootstrap value is that of the final observation, not of the one that
    the next episode began with.
    """
    values = outputs_of[len(policy.critic) - 1]
    where = np.empty((CHUNK, 2), np.int64)
    count = 0
    steps = len(memory.rewards)
    for t in range(steps):
        for row in range(start, stop):
            if memory.truncated[t, row]:
                normalize_rows(memory.final_obs[t], row, 1, policy, x, count)
                where[count, 0], where[count, 1] = t, row
                count += 1
            if count == CHUNK or (count and t == steps - 1 and row == stop - 1):
                evaluate(x, count, policy, outputs_of)
                for i in range(count):
                    memory.next_values[where[i, 0], where[i, 1]] = values[i, 0]
                count = 0


@compiled
def evaluate(x, rows, policy, outputs_of):
    """The critic's outputs for x [rows, D] float32, in the last of `outputs_of`."""
    forward(x, rows, policy.parameters, policy.panels, policy.critic, policy.activation, outputs_of)
