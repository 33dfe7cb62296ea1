"""Gathering rollouts in a GPU's memory.

The same actions from the same random streams as `collecting/compiled.py`, but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..algorithms.algorithm import Metrics
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.states import gather_state, slice_state
from ..envs.bindings import num_agents, step_range
from ..envs.kernels import env_bindings
from ..envs.spec import EnvSpec
from ..envs.vector import Transitions
from ..envs.vector_on_gpu import CudaVectorEnv
from ..jit.kernel import Kernel
from ..jit.streams import uniform_at
from ..machine.values import State
from ..memory.rollout import Rollout
from ..policies.actor_critic import ActorCritic
from ..policies.compiled.heads import Head, head_of, table_of
from ..policies.compiled.heads.bindings import sample
from ..policies.policy import Policy
from ..policies.recurrent_actor_critic import RecurrentActorCritic
from .collector import RowStates


class CudaCollector:
    """Steps environments with any policy; every part of `collect` can be captured."""

    details: Metrics = MappingProxyType({})
    loops: Sequence[Any] = ()
    resumes_exactly = True
    env_steps_under_way = 0  # only the device knows

    def __init__(
        self,
        envs: CudaVectorEnv,
        policy: Policy,
        steps: int,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        """The environments are those of one of `ranks`."""
        self.envs, self._policy, self._ranks = envs, policy, ranks
        # The same numbers for rows, where environments have several.
        first_row = envs.source.first_env * envs.spec.num_agents
        self._row_source = envs.source._replace(first_env=np.int64(first_row))
        has_agents = envs.spec.some_agents_retire  # whose episodes may be cut short at any time
        most_truncated = (steps - 1) // envs.spec.max_episode_steps + 1
        self.rollout = Rollout.empty(
            envs.spec.obs_size,
            steps,
            envs.num_rows,
            policy,
            has_dead_steps=has_agents,
            num_final_obs=None if has_agents else most_truncated,
            device=envs.device,
            obs_type=envs.spec.obs_type,
        )
        self._states = RowStates(policy, self.rollout)
        # Of each row: episodes of this rollout that a time limit cut short.
        self._num_truncated = torch.zeros(envs.num_rows, dtype=torch.int32, device=envs.device)
        # Of each environment, in former rollouts: the place in the random streams of actions.
        self._steps_before = torch.zeros(1, dtype=torch.int64, device=envs.device)
        self._final_obs = torch.zeros_like(self.rollout.obs[-1])
        self._valid = torch.ones_like(self.rollout.terminated[0])
        self._noise = policy.noise((envs.num_rows,), torch.Generator(envs.device)).contiguous()
        self._step_and_keep = make_step_and_keep(envs.spec)
        envs.reset(self.rollout.obs[-1])

    @torch.no_grad()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        rollout = self.rollout
        rollout.obs[0].copy_(rollout.obs[-1])
        self._num_truncated.zero_()
        self._steps(len(rollout.rewards))
        self._steps_before += len(rollout.rewards)
        return rollout

    def _steps(self, steps: int) -> None:
        for t in range(steps):
            self._step(t)

    def _step(self, t: int) -> None:
        """Have the policy choose actions, and take them."""
        states = self._choose(t)
        self._take(t, self._policy.env_actions(self.rollout.actions[t]).contiguous())
        self._after(t, states)

    def _choose(self, t: int) -> Tensor:
        """The policy's actions of step `t`; returns the next states."""
        envs, rollout = self.envs, self.rollout
        noise = self._noise.view(envs.num_rows, -1)
        NOISE.launch(envs.num_rows, noise, self._steps_before, t, self._row_source)
        arguments = (self.rollout.obs[t], self._noise, self._states.before(t))
        actions, log_probs, states = self._policy.act_step(*arguments)
        rollout.remember(t, actions, log_probs)
        return states

    def _take(self, t: int, actions: Tensor) -> None:
        """Step the environments, whose `actions` these are."""
        envs = self.envs
        self._step_and_keep.launch(
            envs.num_envs,
            envs.state,
            envs.totals,
            envs.source,
            actions,
            self._transitions(t),
            self.rollout.final_obs,
            self._num_truncated,
        )

    def _after(self, t: int, states: Tensor) -> None:
        """Forget the episodes that ended in step `t`."""
        self._states.after(t, states)

    def _transitions(self, t: int) -> Transitions:
        """The memory of step `t`."""
        rollout = self.rollout
        rows: tuple[Any, ...] = (
            rollout.obs[t + 1],
            rollout.rewards[t],
            rollout.terminated[t],
            rollout.truncated[t],
            self._final_obs,
            self._valid,
        )
        return Transitions(*rows)

    def take_notices(self) -> Sequence[str]:
        """There is nothing that people should know of the episodes."""
        return ()

    def take_episode_totals(self) -> Tensor:
        """Count, summed return and summed length of the episodes that ended since the last call."""
        totals = torch.stack([total.sum() for total in self.envs.totals])
        self.envs.clear_totals()
        return totals

    def state_dict(self) -> State:
        """Everything the next collection depends on, in main memory."""
        return {
            "envs": gather_state(self._ranks, self.envs.state_dict(), -1),
            "obs": self._ranks.gather(self.rollout.obs[-1].cpu().clone()),
            "steps_before": int(self._steps_before),
            **gather_state(self._ranks, self._states.state_dict(), 0),
        }

    def load_state_dict(self, state: State) -> None:
        self.envs.load_state_dict(slice_state(self._ranks, state["envs"], -1))
        self.rollout.obs[-1].copy_(self._ranks.my_slice(state["obs"]))
        memory = {name: state[name] for name in self._states.state_dict()}
        self._states.load_state_dict(slice_state(self._ranks, memory, 0))
        self._steps_before.fill_(state.get("steps_before", 0))

    def close(self) -> None:
        pass


class AgentsCollector(CudaCollector):
    """Gathers rollouts of environments with several agents, some of whom may retire."""

    def _take(self, t: int, actions: Tensor) -> None:
        rollout = self.rollout
        assert rollout.valid is not None
        out: tuple[Any, ...] = (
            rollout.obs[t + 1],
            rollout.rewards[t],
            rollout.terminated[t],
            rollout.truncated[t],
            rollout.final_obs[t],
            rollout.valid[t],
        )
        self.envs.step(actions, Transitions(*out))


class ActorCollector(CudaCollector):
    """Gathers rollouts as `CudaCollector` does, an actor's draw and its env step in one launch."""

    _policy: ActorCritic | RecurrentActorCritic

    def __init__(
        self,
        envs: CudaVectorEnv,
        policy: ActorCritic | RecurrentActorCritic,
        steps: int,
        ranks: ProcessGroup = LOCAL,
    ) -> None:
        super().__init__(envs, policy, steps, ranks)
        self._env_actions = torch.zeros_like(self.rollout.actions[0])
        self._table = torch.from_numpy(table_of(policy.distribution)).to(envs.device)
        self._act_and_step = make_act_and_step(envs.spec, head_of(policy.distribution))

    def _step(self, t: int) -> None:
        assert isinstance(self._policy, ActorCritic)
        self._act_and_step_from(t, self._policy.outputs(self.rollout.obs[t]))

    def _act_and_step_from(self, t: int, outputs: Tensor) -> None:
        envs, rollout = self.envs, self.rollout
        self._act_and_step.launch(
            envs.num_envs,
            envs.state,
            envs.totals,
            envs.source,
            outputs,
            self._table,
            self._steps_before,
            t,
            rollout.actions[t],
            self._env_actions,
            rollout.log_probs[t],
            self._transitions(t),
            rollout.final_obs,
            self._num_truncated,
        )


class RecurrentActorCollector(ActorCollector):
    """`ActorCollector` for a recurrent actor."""

    _policy: RecurrentActorCritic

    def _step(self, t: int) -> None:
        policy = self._policy
        features, states = policy.step(self.rollout.obs[t], self._states.before(t))
        self._act_and_step_from(t, policy.outputs(features))
        self._states.after(t, states)


def noise_one(env, arguments):
    """The random numbers in [0, 1) of one environment in step `t`."""
    noise, steps_before, t, source = arguments
    for draw in range(noise.shape[1]):
        random = (steps_before[0] + t, source.first_env + env, source.seed)
        noise[env, draw] = uniform_at(random, draw)


NOISE = Kernel(noise_one, "any")


@cache
def make_step_and_keep(spec: EnvSpec) -> Kernel:
    return Kernel(step_and_keep_one, spec.name, **env_bindings(spec))


def step_and_keep_one(env, arguments):
    """One env step of one environment, and the state it was in where a time limit cut it short."""
    state, totals, source, actions, out, final_obs, num_truncated = arguments
    step_range(env, env + 1, state, totals, source, actions, out)
    for row in range(env * num_agents, (env + 1) * num_agents):
        keep_final_obs(row, out, final_obs, num_truncated)


def keep_final_obs(env, out, final_obs, num_truncated):
    """Copy out.final_obs[env] [D] to the next row of `final_obs` [C, N, D] after a time limit;
    where environments have several agents `env` is the row of one.
    """
    if out.truncated[env]:
        for field in range(out.final_obs.shape[1]):
            final_obs[num_truncated[env], env, field] = out.final_obs[env, field]
        num_truncated[env] += 1


@cache
def make_act_and_step(spec: EnvSpec, head: Head) -> Kernel:
    label = f"{spec.name}_{head.label}"
    return Kernel(act_and_step_one, label, sample=head.sample, **env_bindings(spec))


def act_and_step_one(env, arguments):
    """One env step of one environment, from the actor's outputs to the transition."""
    (
        state,
        totals,
        source,
        outputs,
        table,
        steps_before,
        t,
        actions,
        env_actions,
        log_probs,
        out,
        final_obs,
        num_truncated,
    ) = arguments
    random = (steps_before[0] + t, source.first_env + env, source.seed)
    num_outputs = outputs.shape[1]
    log_probs[env] = sample(outputs, env, num_outputs, table, random, env, actions, env_actions)
    step_range(env, env + 1, state, totals, source, env_actions, out)
    keep_final_obs(env, out, final_obs, num_truncated)
