"""A rollout in a GPU's memory, and the collector that gathers it there.

The same actions from the same random streams as `kernels/collecting.py`, but for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ..distributions import Distribution
from ..envs.spec import EnvSpec
from ..envs.vector import Transitions
from ..kernels.heads import Head, head_of, table_of
from ..policy import ActorCritic
from .kernel import Kernel
from .vector import CudaVectorEnv, env_bindings


@dataclass
class CudaRollout:
    """T steps of N environments, time first, in memory that every collection fills anew.

    `obs` [T + 1, N, D] and `values` [T + 1, N] end with what the next rollout starts from. Where a
    time limit cut an environment's episodes, `cut_obs` [C, N, D] and `cut_values` [C, N] hold the
    states they ended in, first to last, and `num_cuts` [N] how many there were: C is the most that
    T steps have room for, far less than T.
    """

    obs: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    log_probs: Tensor
    values: Tensor
    cut_obs: Tensor
    cut_values: Tensor
    num_cuts: Tensor

    @classmethod
    def empty(
        cls, spec: EnvSpec, steps: int, num_envs: int, distribution: Distribution, device: Any
    ) -> CudaRollout:
        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        most_cuts = (steps - 1) // spec.max_episode_steps + 1
        return cls(
            obs=zeros(steps + 1, num_envs, spec.obs_size),
            actions=zeros(
                steps, num_envs, *distribution.action_shape, dtype=distribution.action_dtype
            ),
            rewards=zeros(steps, num_envs),
            terminated=zeros(steps, num_envs, dtype=torch.bool),
            truncated=zeros(steps, num_envs, dtype=torch.bool),
            log_probs=zeros(steps, num_envs),
            values=zeros(steps + 1, num_envs),
            cut_obs=zeros(most_cuts, num_envs, spec.obs_size),
            cut_values=zeros(most_cuts, num_envs),
            num_cuts=zeros(num_envs, dtype=torch.int32),
        )

    @property
    def dones(self) -> Tensor:
        return self.terminated | self.truncated


class CudaCollector:
    """Steps environments with a policy; every part of `collect` can be captured."""

    def __init__(self, envs: CudaVectorEnv, policy: ActorCritic, steps: int) -> None:
        self._envs, self._policy = envs, policy
        self.rollout = CudaRollout.empty(
            envs.spec, steps, envs.num_envs, policy.distribution, envs.device
        )
        self._env_actions = torch.zeros_like(self.rollout.actions[0])
        self._table = torch.from_numpy(table_of(policy.distribution)).to(envs.device)
        # Of each environment, in former rollouts: the place in the random streams of actions.
        self._steps_before = torch.zeros(1, dtype=torch.int64, device=envs.device)
        self._final_obs = torch.zeros_like(self.rollout.obs[0])
        self._act_and_step = make_act_and_step(envs.spec, head_of(policy.distribution))
        envs.reset(self.rollout.obs[-1])

    @torch.no_grad()
    def collect(self) -> None:
        """Fill the rollout: step every environment T times."""
        rollout = self.rollout
        rollout.obs[0].copy_(rollout.obs[-1])
        rollout.num_cuts.zero_()
        for t in range(len(rollout.rewards)):
            self._step(t, self._policy.outputs(rollout.obs[t]))
        self._steps_before += len(rollout.rewards)
        judge(rollout, self._policy)

    def _step(self, t: int, outputs: Tensor) -> None:
        """Draw actions from the actor's `outputs` [N, num_outputs] and take them."""
        envs, rollout = self._envs, self.rollout
        rows: tuple[Any, ...] = (
            rollout.obs[t + 1], rollout.rewards[t], rollout.terminated[t], rollout.truncated[t],
            self._final_obs,
        )  # fmt: skip
        self._act_and_step.launch(
            envs.num_envs, envs.state, envs.totals, envs.seed, envs.stream, outputs,
            self._table, self._steps_before, t, rollout.actions[t], self._env_actions,
            rollout.log_probs[t], Transitions(*rows),
            rollout.cut_obs, rollout.num_cuts,
        )  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        """Everything the next collection depends on, in main memory."""
        return {
            "envs": self._envs.state_dict(),
            "obs": self.rollout.obs[-1].cpu().clone(),
            "steps_before": int(self._steps_before),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._envs.load_state_dict(state["envs"])
        self.rollout.obs[-1].copy_(state["obs"])
        self._steps_before.fill_(state.get("steps_before", 0))


def judge(rollout: CudaRollout, policy: ActorCritic) -> None:
    """Fill in the values of all states, those included in which a time limit cut an episode."""
    values = policy.values(rollout.obs.flatten(0, 1))
    rollout.values.copy_(values.view_as(rollout.values))
    cut_values = policy.values(rollout.cut_obs.flatten(0, 1))
    rollout.cut_values.copy_(cut_values.view_as(rollout.cut_values))


# Bound for each environment and distribution by `make_act_and_step`.
sample: Any = None
step_range: Any = None


@cache
def make_act_and_step(spec: EnvSpec, head: Head) -> Kernel:
    label = f"{spec.name}_{head.label}"
    return Kernel(act_and_step_one, label, sample=head.sample, **env_bindings(spec))


def act_and_step_one(env, arguments):
    """One env step of one environment, from the actor's outputs to the transition."""
    (
        state, totals, seed, stream, outputs, table, steps_before, t, actions, env_actions,
        log_probs, out, cut_obs, num_cuts,
    ) = arguments  # fmt: skip
    step = steps_before[0] + t
    num_outputs = outputs.shape[1]
    log_probs[env] = sample(outputs, env, num_outputs, table, seed, step, env, actions, env_actions)
    step_range(env, env + 1, state, totals, seed, stream, env_actions, out)
    if out.truncated[env]:
        for field in range(out.final_obs.shape[1]):
            cut_obs[num_cuts[env], env, field] = out.final_obs[env, field]
        num_cuts[env] += 1
