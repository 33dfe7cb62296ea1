"""What one collection gathers, and the collector that gathers it with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .distributions import Distribution
from .envs.from_gymnasium import GymnasiumEnvs
from .envs.spec import Spaces
from .envs.vector import Transitions, VectorEnv
from .policy import ActorCritic
from .threads import one_torch_thread


@dataclass
class Rollout:
    """T steps of N environments, time first. Its memory is filled anew by every collection.

    `obs` [T + 1, N, D] ends with what the next rollout starts from. `actions` are as the
    distribution keeps them. `final_obs` [T, N, D] counts
    only where an episode ended; `next_values` [T, N] are of the state each step led to.

    `valid` [T, N] is False for dead transitions, in which an environment did nothing but begin its
    next episode, and None where there are none: nothing is learned from those.
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
    valid: Tensor | None = None

    @classmethod
    def empty(cls, spec: Spaces, steps: int, num_envs: int, distribution: Distribution) -> Rollout:
        shape = (steps, num_envs)
        return cls(
            obs=torch.zeros(steps + 1, num_envs, spec.obs_size),
            actions=torch.zeros(
                *shape, *distribution.action_shape, dtype=distribution.action_dtype
            ),
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

    @property
    def num_valid(self) -> int:
        """Env steps that count."""
        return self.rewards.numel() if self.valid is None else int(self.valid.sum())

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x [T, N, ...] that count, as [B, ...]."""
        return x.flatten(0, 1) if self.valid is None else x[self.valid]

    def transitions(self, t: int) -> Transitions:
        """The memory of step `t`, for the environment to write."""
        rows = (self.rewards, self.terminated, self.truncated, self.final_obs)
        return Transitions(self.obs[t + 1].numpy(), *(row[t].numpy() for row in rows))


class Collector:
    """Steps environments with a policy."""

    def __init__(
        self,
        envs: VectorEnv | GymnasiumEnvs,
        policy: ActorCritic,
        steps: int,
        seed: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """`tick` is called after every step."""
        self._envs, self._policy, self._tick = envs, policy, tick
        self._seed, self._generator = seed, torch.Generator().manual_seed(seed)
        self._steps_before = 0  # of each environment, in former rollouts
        self.env_steps_under_way = 0
        self.rollout = Rollout.empty(envs.spec, steps, envs.num_envs, policy.distribution)
        if envs.valid is not None:
            self.rollout.valid = torch.ones_like(self.rollout.terminated)
        self._transitions = [self.rollout.transitions(t) for t in range(steps)]
        envs.reset(self.rollout.obs[-1].numpy())

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        rollout, policy = self.rollout, self._policy
        rollout.obs[0] = rollout.obs[-1]
        shape = tuple(rollout.rewards.shape)
        noise = policy.distribution.noise(shape, self._generator)
        for t, transitions in enumerate(self._transitions):
            outputs = policy.outputs(rollout.obs[t])
            rollout.actions[t] = policy.distribution.sample(outputs, noise[t])
            env_actions = policy.distribution.env_actions(rollout.actions[t])
            self._envs.step(env_actions.numpy(), transitions)
            one_torch_thread()
            if rollout.valid is not None:
                rollout.valid[t] = torch.from_numpy(self._envs.valid)
            self.env_steps_under_way += self._envs.num_envs
            self._tick()
        judge(rollout, policy)
        self._steps_before += len(rollout.rewards)
        self.env_steps_under_way = 0
        return rollout

    def state_dict(self) -> dict[str, Any]:
        """Everything the next collection depends on, here or on a GPU."""
        return {
            "envs": self._envs.state_dict(),
            "obs": self.rollout.obs[-1].clone(),
            "steps_before": self._steps_before,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._envs.load_state_dict(state["envs"])
        if self._envs.resumes_exactly:
            self.rollout.obs[-1] = state["obs"]
        else:
            self._envs.reset(self.rollout.obs[-1].numpy())
        self._steps_before = state.get("steps_before", 0)
        set_generator(self._generator, state, self._seed, self._steps_before)


def set_generator(
    generator: torch.Generator, state: Mapping[str, Any], seed: int, count: int
) -> None:
    """Go on with the random numbers of `state`. One of another kind of device has none that could
    be gone on with: then with those of `seed` and of how far the run is, `count`, which were not
    drawn before.
    """
    kept = state.get("generator")
    if kept is not None and len(kept) == len(generator.get_state()):
        generator.set_state(kept)
    else:
        drawn = np.random.SeedSequence((seed, count)).generate_state(2)
        generator.manual_seed(int(drawn[0]) << 32 | int(drawn[1]))


def judge(rollout: Rollout, policy: ActorCritic) -> None:
    """Fill in values and log-probabilities, all steps at once."""
    values = policy.values(rollout.obs.flatten(0, 1)).view(rollout.obs.shape[:2])
    rollout.values.copy_(values[:-1])
    rollout.next_values.copy_(values[1:])
    # A time limit cut these short: what counts is where they were, not where they restarted.
    cut = rollout.truncated
    if cut.any():
        rollout.next_values[cut] = policy.values(rollout.final_obs[cut])
    outputs = policy.outputs(rollout.obs[:-1].flatten(0, 1))
    log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, rollout.actions.flatten(0, 1))
    rollout.log_probs.copy_(log_probs.view_as(rollout.log_probs))
