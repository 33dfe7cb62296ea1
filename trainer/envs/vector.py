"""Many environments at once: time limits, same-step autoreset and random streams, written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import prange
from numpy.typing import NDArray

from ..compiling import compiled, specialised
from .bindings import step_range
from .spec import EnvSpec
from .stepping import begin_episode
from .streams import TRAINING
from .tiles import TILE, make_step_range

Array = NDArray[Any]

BLOCK = 16 * TILE  # environments that one thread steps without looking up


class EnvState(NamedTuple):
    """All that a vector environment remembers; every array ends in [N]."""

    fields: Array  # [state_size, N] float32
    elapsed: Array  # int32, env steps of the episode so far
    episode: Array  # int64, number of the episode, from 0
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

    @classmethod
    def empty(cls, spec: EnvSpec, num_envs: int) -> Transitions:
        return cls(
            np.zeros((num_envs, spec.obs_size), np.float32),
            np.zeros(num_envs, np.float32),
            np.zeros(num_envs, np.bool_),
            np.zeros(num_envs, np.bool_),
            np.zeros((num_envs, spec.obs_size), np.float32),
        )


class EpisodeTotals(NamedTuple):
    """Sums over the episodes that ended in each environment, each [N] float64."""

    episodes: Array
    return_: Array
    length: Array


class VectorEnv:
    """N copies of one environment on the processor.

    An environment's episodes depend on the seed, its number and its actions alone: not on N, nor
    on how many threads share the work.
    """

    resumes_exactly = True
    valid: Array | None = None  # no step is ever dead

    def __init__(self, spec: EnvSpec, num_envs: int, seed: int, stream: int = TRAINING) -> None:
        self.spec, self.num_envs = spec, num_envs
        self.seed, self.stream = np.uint64(seed), np.uint64(stream)
        self.state = EnvState(
            fields=np.zeros((spec.state_size, num_envs), np.float32),
            elapsed=np.zeros(num_envs, np.int32),
            episode=np.zeros(num_envs, np.int64),
            episode_return=np.zeros(num_envs),
        )
        self.totals = EpisodeTotals(*(np.zeros(num_envs) for _ in range(3)))
        self.loops = compile_loops(spec)

    def reset(self, obs: Array) -> None:
        """Begin the first episode everywhere; writes `obs` [N, D]."""
        self.state.episode[:] = 0
        self.loops.reset(self.state, self.seed, self.stream, obs)

    def step(self, actions: Array, out: Transitions) -> None:
        """Step every environment with its own of `actions` [N, ...]; writes `out`."""
        self.loops.step(self.state, self.totals, self.seed, self.stream, actions, out)

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call."""
        count, return_, length = (float(total.sum()) for total in self.totals)
        for total in self.totals:
            total[:] = 0
        return int(count), return_, length

    def close(self) -> None:
        """There is nothing to close."""

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Everything that the next step depends on, as copies."""
        return {name: torch.from_numpy(a.copy()) for name, a in self.state._asdict().items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        for name, array in self.state._asdict().items():
            array[...] = state[name].numpy()


def reset_all(state, seed, stream, obs):
    for env in range(len(state.elapsed)):
        begin_episode(env, state, seed, stream, obs)


def step_all(state, totals, seed, stream, actions, out):
    num_envs = len(state.elapsed)
    for block in prange((num_envs + BLOCK - 1) // BLOCK):
        stop = min((block + 1) * BLOCK, num_envs)
        step_range(block * BLOCK, stop, state, totals, seed, stream, actions, out)


class Loops(NamedTuple):
    """One environment's compiled loops. `step_range` is for the loops of others."""

    reset: Callable[..., None]
    step: Callable[..., None]
    step_range: Callable[..., None]


@cache
def compile_loops(spec: EnvSpec) -> Loops:
    """The loops around one environment's functions."""
    functions: dict[str, Any] = {
        "env_reset": compiled(spec.reset),
        "observe": compiled(spec.observe),
    }
    begin = specialised(begin_episode, spec.name, **functions)
    step_tiles = make_step_range(spec)
    return Loops(
        reset=specialised(reset_all, spec.name, begin_episode=begin),
        step=specialised(step_all, spec.name, parallel=True, step_range=step_tiles),
        step_range=step_tiles,
    )
