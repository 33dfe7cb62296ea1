"""Many environments on a GPU, a thread each: the functions and streams of `envs/vector.py`."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import cuda, float32, float64, int64
from torch import Tensor

from ..envs.spec import EnvSpec
from ..envs.streams import TRAINING
from ..envs.vector import (
    EnvState,
    EpisodeTotals,
    Transitions,
    begin_episode_template,
    step_range_template,
)
from .kernel import Kernel


class Steps(NamedTuple):
    """What K steps of N environments give, field by field so that neighbours write side by side.

    `obs` [K, D, N] is what is seen next, after a reset where an episode ended; `rewards` [K, N]
    float32; `terminated` and `truncated` [K, N] bool.
    """

    obs: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor

    @classmethod
    def empty(cls, spec: EnvSpec, steps: int, num_envs: int, device: torch.device) -> Steps:
        shape = (steps, num_envs)
        return cls(
            torch.zeros(steps, spec.obs_size, num_envs, device=device),
            torch.zeros(shape, device=device),
            torch.zeros(shape, dtype=torch.bool, device=device),
            torch.zeros(shape, dtype=torch.bool, device=device),
        )


class CudaVectorEnv:
    """N copies of one environment in a GPU's memory.

    The interface of `VectorEnv`, with tensors for arrays; `reset` and `step` can be captured.
    """

    def __init__(
        self,
        spec: EnvSpec,
        num_envs: int,
        seed: int,
        stream: int = TRAINING,
        device: torch.device | str = "cuda",
    ) -> None:
        self.spec, self.num_envs, self.device = spec, num_envs, torch.device(device)
        self.seed, self.stream = np.uint64(seed), np.uint64(stream)
        self.state = EnvState(
            fields=self._zeros(torch.float32, spec.state_size, num_envs),
            elapsed=self._zeros(torch.int32, num_envs),
            episode=self._zeros(torch.int64, num_envs),
            episode_return=self._zeros(torch.float64, num_envs),
        )
        self.totals = EpisodeTotals(*(self._zeros(torch.float64, num_envs) for _ in range(3)))
        self._kernels = make_kernels(spec)

    def _zeros(self, dtype: torch.dtype, *shape: int) -> Any:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def empty_transitions(self) -> Transitions:
        """Memory for one step, as tensors."""
        shape = (self.num_envs, self.spec.obs_size)
        return Transitions(
            obs=self._zeros(torch.float32, *shape),
            reward=self._zeros(torch.float32, self.num_envs),
            terminated=self._zeros(torch.bool, self.num_envs),
            truncated=self._zeros(torch.bool, self.num_envs),
            final_obs=self._zeros(torch.float32, *shape),
        )

    def reset(self, obs: Tensor) -> None:
        """Begin the first episode everywhere; writes `obs` [N, D]."""
        self.state.episode[:] = 0
        self._kernels.reset.launch(self.num_envs, self.state, self.seed, self.stream, obs)

    def step(self, actions: Tensor, out: Transitions) -> None:
        """Step every environment with its own of `actions` [N, ...]; writes `out`, of tensors."""
        self._kernels.step.launch(
            self.num_envs, self.state, self.totals, self.seed, self.stream, actions, out
        )

    def step_many(self, actions: Tensor, out: Steps) -> None:
        """Take K steps with `actions` [K, N, ...] in one launch; writes `out`."""
        self._kernels.step_many.launch(
            self.num_envs, self.state, self.totals, self.seed, self.stream, actions, out
        )

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call.

        Waits for the GPU.
        """
        count, return_, length = torch.stack([total.sum() for total in self.totals]).tolist()
        self.clear_totals()
        return int(count), return_, length

    def clear_totals(self) -> None:
        for total in self.totals:
            total[:] = 0

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, as copies in main memory."""
        return {name: x.cpu().clone() for name, x in self.state._asdict().items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self.state._asdict().items():
            tensor.copy_(state[name])


class Kernels(NamedTuple):
    """One environment's kernels."""

    reset: Kernel
    step: Kernel
    step_many: Kernel


@cache
def make_kernels(spec: EnvSpec) -> Kernels:
    """The kernels around one environment's functions."""
    bindings: dict[str, Any] = env_bindings(spec)
    many = {**own_bindings(spec), "keeps_final": False}
    return Kernels(
        reset=Kernel(reset_one, spec.name, **bindings),
        step=Kernel(step_one, spec.name, **bindings),
        step_many=Kernel(
            step_one_many_times, spec.name,
            thread=many_thread_template, loop=many_loop_template, **bindings, **many,
        ),
    )  # fmt: skip


def env_bindings(spec: EnvSpec) -> dict[str, Any]:
    """What the templates of `envs/vector.py` and of this file leave open."""
    return {
        "env_reset": spec.reset,
        "env_step": spec.step,
        "observe": spec.observe,
        "begin_episode": begin_episode_template,
        "step_range": step_range_template,
        "max_episode_steps": spec.max_episode_steps,
    }


def own_bindings(spec: EnvSpec) -> dict[str, Any]:
    """What the functions for an environment in memory of its own leave open besides."""
    return {
        "state_size": spec.state_size,
        "obs_size": spec.obs_size,
    }


# Bound for each environment by `make_kernels`; what follows are the bodies of its kernels.
env_reset: Any = None
env_step: Any = None
observe: Any = None
begin_episode: Any = None
step_range: Any = None
max_episode_steps: Any = None
state_size: Any = None
obs_size: Any = None
keeps_final: Any = None
body: Any = None


def reset_one(env, arguments):
    state, seed, stream, obs = arguments
    begin_episode(env, state, seed, stream, obs)


def step_one(env, arguments):
    state, totals, seed, stream, actions, out = arguments
    step_range(env, env + 1, state, totals, seed, stream, actions, out)


def many_thread_template(size, arguments):
    env = cuda.grid(1)
    if env < size:
        fields = cuda.local.array((state_size, 1), float32)
        counts = cuda.local.array(2, int64)
        return_ = cuda.local.array(1, float64)
        obs = cuda.local.array((2, obs_size), float32)
        body(env, (fields, counts, return_, obs), arguments)


def many_loop_template(size, arguments):
    for env in range(size):
        fields = np.empty((state_size, 1), np.float32)
        counts = np.empty(2, np.int64)
        return_ = np.empty(1, np.float64)
        obs = np.empty((2, obs_size), np.float32)
        body(env, (fields, counts, return_, obs), arguments)


# Of one environment in memory of its own: `own` is (fields [state_size, 1], counts [2], return_
# [1], obs [2, D]), where the second row of `obs` is for the state in which an episode ended.
ELAPSED, EPISODE = range(2)
NEXT, FINAL = range(2)
OBS = 3


def take_out(env, own, state):
    """Copy an environment's state to memory of its own."""
    fields, counts, return_, _ = own
    for field in range(state_size):
        fields[field, 0] = state.fields[field, env]
    counts[ELAPSED], counts[EPISODE] = state.elapsed[env], state.episode[env]
    return_[0] = state.episode_return[env]


def put_back(env, own, state):
    fields, counts, return_, _ = own
    for field in range(state_size):
        state.fields[field, env] = fields[field, 0]
    state.elapsed[env], state.episode[env] = counts[ELAPSED], counts[EPISODE]
    state.episode_return[env] = return_[0]


def step_alone(env, own, totals, seed, stream, action):
    """One step as by `step_range`; observations go to `own`. Returns (reward, terminated,
    truncated).
    """
    fields, counts, return_, obs = own
    reward, terminated = env_step(fields, 0, action)
    counts[ELAPSED] += 1
    return_[0] += reward
    truncated = counts[ELAPSED] >= max_episode_steps and not terminated
    if terminated or truncated:
        if keeps_final:
            observe(fields, 0, obs[FINAL:])
        totals.episodes[env] += 1
        totals.return_[env] += return_[0]
        totals.length[env] += counts[ELAPSED]
        counts[EPISODE] += 1
        counts[ELAPSED] = 0
        return_[0] = 0.0
        env_reset(fields, 0, (env, counts[EPISODE], seed, stream))
    observe(fields, NEXT, obs)
    return reward, terminated, truncated


def step_one_many_times(env, own, arguments):
    """Steps with the state in registers from the first to the last."""
    state, totals, seed, stream, actions, out = arguments
    take_out(env, own, state)
    for k in range(len(out.rewards)):
        reward, terminated, truncated = step_alone(env, own, totals, seed, stream, actions[k, env])
        out.rewards[k, env] = reward
        out.terminated[k, env] = terminated
        out.truncated[k, env] = truncated
        for part in range(obs_size):
            out.obs[k, part, env] = own[OBS][NEXT, part]
    put_back(env, own, state)
