"""Many environments at once: time limits, same-step autoreset and random streams, written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from numpy.typing import NDArray

from .spec import EnvSpec
from .streams import TRAINING

Array = NDArray[Any]


class EnvState(NamedTuple):
    """All that a vector environment remembers; every array ends in [N]."""

    fields: Array  # [state_size, N] float32
    elapsed: Array  # int32, env steps of the episode so far
    episode: Array  # int64, number of the episode, from 0
    draws: Array  # int64, random numbers the episode has drawn
    episode_return: Array  # float64, rewards of the episode so far


class Transitions(NamedTuple):
    """What one step of N environments gives.

    `obs` [N, D] is what the policy sees next, after a reset where an episode ended; `final_obs`
    [N, D] is the state such an episode ended in, and untouched elsewhere. `reward` [N] float32,
    `terminated` and `truncated` [N] bool, never both.
    """

    obs: Array
    reward: Array
    terminated: Array
    truncated: Array
    final_obs: Array


class EpisodeTotals(NamedTuple):
    """Sums over the episodes that ended in each environment, each [N] float64."""

    episodes: Array
    return_: Array
    length: Array


class VectorEnv:
    """N copies of one environment on the processor.

    An environment's episodes depend on the seed, its number and its actions alone: not on N, nor
    on who steps which range. Different ranges may be stepped by different threads at once.
    """

    def __init__(self, spec: EnvSpec, num_envs: int, seed: int, stream: int = TRAINING) -> None:
        self.spec, self.num_envs = spec, num_envs
        self._seed, self._stream = np.uint64(seed), stream
        self.state = EnvState(
            fields=np.zeros((spec.state_size, num_envs), np.float32),
            elapsed=np.zeros(num_envs, np.int32),
            episode=np.zeros(num_envs, np.int64),
            draws=np.zeros(num_envs, np.int64),
            episode_return=np.zeros(num_envs),
        )
        self._totals = EpisodeTotals(*(np.zeros(num_envs) for _ in range(3)))
        self._kernels = compile_kernels(spec)

    def reset(self, obs: Array) -> None:
        """Begin the first episode everywhere; writes `obs` [N, D]."""
        self.state.episode[:] = 0
        self.state.draws[:] = 0
        self.state.elapsed[:] = 0
        self.state.episode_return[:] = 0
        self._kernels.reset(0, self.num_envs, self.state, self._seed, self._stream, obs)

    def step(
        self, actions: Array, out: Transitions, start: int = 0, stop: int | None = None
    ) -> None:
        """Step environments `start` to `stop` with `actions` [N, ...]; writes `out`."""
        self._kernels.step(
            start, self.num_envs if stop is None else stop, self.state, self._totals,
            self._seed, self._stream, actions, out,
        )  # fmt: skip

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call."""
        count, return_, length = (float(total.sum()) for total in self._totals)
        for total in self._totals:
            total[:] = 0
        return int(count), return_, length

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Everything that the next step depends on, as copies."""
        return {name: torch.from_numpy(a.copy()) for name, a in self.state._asdict().items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        for name, array in self.state._asdict().items():
            array[...] = state[name].numpy()


class Kernels(NamedTuple):
    """The compiled loops over a range of environments."""

    reset: Callable[..., None]
    step: Callable[..., None]


@cache
def compile_kernels(spec: EnvSpec) -> Kernels:
    """Compile the loops around one environment's functions; they release the interpreter's lock."""
    env_reset, env_step = njit(spec.reset), njit(spec.step)
    observe = njit(spec.observe)
    max_episode_steps = spec.max_episode_steps

    @njit(nogil=True)
    def begin_episode(env, state, seed, stream, obs):
        state.draws[env] = 0
        state.elapsed[env] = 0
        state.episode_return[env] = 0.0
        env_reset(state.fields, env, (state.draws, env, state.episode[env], seed, stream))
        observe(state.fields, env, obs)

    @njit(nogil=True)
    def reset(start, stop, state, seed, stream, obs):
        for env in range(start, stop):
            begin_episode(env, state, seed, stream, obs)

    @njit(nogil=True)
    def step(start, stop, state, totals, seed, stream, actions, out):
        for env in range(start, stop):
            reward, terminated = env_step(state.fields, env, actions[env])
            state.elapsed[env] += 1
            state.episode_return[env] += reward
            truncated = state.elapsed[env] >= max_episode_steps and not terminated
            out.reward[env] = reward
            out.terminated[env] = terminated
            out.truncated[env] = truncated
            if terminated or truncated:
                observe(state.fields, env, out.final_obs)
                totals.episodes[env] += 1
                totals.return_[env] += state.episode_return[env]
                totals.length[env] += state.elapsed[env]
                state.episode[env] += 1
                begin_episode(env, state, seed, stream, out.obs)
            else:
                observe(state.fields, env, out.obs)

    return Kernels(reset, step)
