"""What one collection gathers, and the collector that gathers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .envs.spec import EnvSpec
from .envs.vector import Transitions, VectorEnv
from .policy import ActorCritic
from .workers import Shard, Workers, shards

SHARD_ENVS = 256


@dataclass
class Rollout:
    """T steps of N environments, time first. Its memory is filled anew by every collection.

    `obs` [T + 1, N, D] ends with what the next rollout starts from. `final_obs` [T, N, D] counts
    only where an episode ended; `next_values` [T, N] are of the state each step led to.
    """

    obs: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    final_obs: Tensor
    log_probs: Tensor
    values: Tensor
    next_values: Tensor

    @classmethod
    def empty(cls, spec: EnvSpec, steps: int, num_envs: int, action_dtype: torch.dtype) -> Rollout:
        shape = (steps, num_envs)
        return cls(
            obs=torch.zeros(steps + 1, num_envs, spec.obs_size),
            actions=torch.zeros(shape, dtype=action_dtype),
            rewards=torch.zeros(shape),
            terminated=torch.zeros(shape, dtype=torch.bool),
            truncated=torch.zeros(shape, dtype=torch.bool),
            final_obs=torch.zeros(steps, num_envs, spec.obs_size),
            log_probs=torch.zeros(shape),
            values=torch.zeros(shape),
            next_values=torch.zeros(shape),
        )

    @property
    def dones(self) -> Tensor:
        return self.terminated | self.truncated

    def transitions(self, t: int) -> Transitions:
        """The memory of step `t`, for the environment to write."""
        rows = (self.rewards, self.terminated, self.truncated, self.final_obs)
        return Transitions(self.obs[t + 1].numpy(), *(row[t].numpy() for row in rows))


class Collector:
    """Steps environments with a policy, each shard of them on one thread from start to end."""

    def __init__(
        self, envs: VectorEnv, policy: ActorCritic, steps: int, workers: Workers, seed: int
    ) -> None:
        self._envs, self._policy, self._workers = envs, policy, workers
        self._generator = torch.Generator().manual_seed(seed)
        self._shards = shards(envs.num_envs, SHARD_ENVS)
        self._progress = [0] * len(self._shards)
        self.rollout = Rollout.empty(
            envs.spec, steps, envs.num_envs, policy.distribution.action_dtype
        )
        self._transitions = [self.rollout.transitions(t) for t in range(steps)]
        envs.reset(self.rollout.obs[-1].numpy())

    @property
    def env_steps_under_way(self) -> int:
        """Env steps of the collection that is going on."""
        return sum(self._progress)

    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        rollout = self.rollout
        rollout.obs[0] = rollout.obs[-1]
        shape = tuple(rollout.rewards.shape)
        noise = self._policy.distribution.noise(shape, self._generator)
        self._progress = [0] * len(self._shards)
        self._workers.map(lambda i: self._collect_shard(i, noise), range(len(self._shards)))
        self._progress = [0] * len(self._shards)
        return rollout

    @torch.inference_mode()
    def _collect_shard(self, index: int, noise: Tensor) -> None:
        shard, rollout, policy = self._shards[index], self.rollout, self._policy
        num_envs = shard.stop - shard.start
        for t, transitions in enumerate(self._transitions):
            outputs = policy.outputs(rollout.obs[t, shard])
            actions = policy.distribution.sample(outputs, noise[t, shard])
            rollout.actions[t, shard] = actions
            self._envs.step(rollout.actions[t].numpy(), transitions, shard.start, shard.stop)
            self._progress[index] += num_envs
        self._judge(shard)

    def _judge(self, shard: Shard) -> None:
        """Values and log-probabilities of a shard, all steps at once."""
        rollout, policy = self.rollout, self._policy
        obs = rollout.obs[:, shard]
        steps, num_envs = obs.shape[0] - 1, obs.shape[1]
        flat = obs.reshape(-1, obs.shape[-1])
        values = policy.values(flat).view(steps + 1, num_envs)
        rollout.values[:, shard] = values[:-1]
        next_values = values[1:].clone()
        # A time limit cut these short: what counts is where they were, not where they restarted.
        truncated = rollout.truncated[:, shard]
        if truncated.any():
            next_values[truncated] = policy.values(rollout.final_obs[:, shard][truncated])
        rollout.next_values[:, shard] = next_values

        outputs = policy.outputs(flat[: steps * num_envs])
        actions = rollout.actions[:, shard].flatten(0, 1)
        log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, actions)
        rollout.log_probs[:, shard] = log_probs.view(steps, num_envs)

    def state_dict(self) -> dict[str, Any]:
        """Everything the next collection depends on."""
        return {
            "envs": self._envs.state_dict(),
            "obs": self.rollout.obs[-1].clone(),
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._envs.load_state_dict(state["envs"])
        self.rollout.obs[-1] = state["obs"]
        self._generator.set_state(state["generator"])
