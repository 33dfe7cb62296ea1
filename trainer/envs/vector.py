"""Many environments at once: time limits, same-step autoreset and random streams, written once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import prange
from numpy.typing import NDArray

from ..jit.compiling import specialised
from ..jit.streams import TRAINING, RandomSource
from ..spaces import ObsType
from .bindings import block_size, step_range
from .spec import EnvSpec
from .stepping import begin_episode, compiled_functions, one_by_one
from .tiles import TILE, make_step_range

Array = NDArray[Any]

BLOCK = 16 * TILE  # rows that one thread steps at a time
WORLD_BLOCK = 16  # worlds that agents share, a step of which is some hundred times as much


class EnvState(NamedTuple):
    """The state of N environments and their R = N x num_agents rows."""

    fields: Array  # [state_size, N] float32; column by column in memory unless `steps_in_tiles`
    elapsed: Array  # [N] int32, env steps of the episode so far
    episode: Array  # [N] int64, number of the episode, from 0
    episode_return: Array  # [R] float64, rewards of the episode so far

    @classmethod
    def first(cls, spec: EnvSpec, num_envs: int, stream: int) -> EnvState:
        """The state before the first episodes."""
        return cls(
            fields=empty_fields(spec, num_envs, stream),
            elapsed=np.zeros(num_envs, np.int32),
            episode=np.zeros(num_envs, np.int64),
            episode_return=np.zeros(num_envs * spec.num_agents),
        )


class Transitions(NamedTuple):
    """The results of one step of N environments: R rows, one for each agent; the rows of an
    environment are neighbours. With one agent per environment R is N.

    `obs` [R, D], float32 or bytes, is the policy's next input, after a reset where an episode
    ended; `final_obs` [R, D] is the last observation of such an episode, and untouched elsewhere.
    `reward` [R] float32, `terminated` and `truncated` [R] bool, never both. `valid` [R] bool is
    False where the step was dead: the agent has retired, or the environment only began its next
    episode. It is untouched by environments without `has_dead_steps`.
    """

    obs: Array
    reward: Array
    terminated: Array
    truncated: Array
    final_obs: Array
    valid: Array

    @classmethod
    def empty(cls, obs_size: int, num_rows: int, dtype: ObsType = np.float32) -> Transitions:
        """`dtype` is that of observations."""
        return cls(
            np.zeros((num_rows, obs_size), dtype),
            np.zeros(num_rows, np.float32),
            np.zeros(num_rows, np.bool_),
            np.zeros(num_rows, np.bool_),
            np.zeros((num_rows, obs_size), dtype),
            np.ones(num_rows, np.bool_),
        )

    @classmethod
    def of(cls, spec: Any, num_rows: int) -> Transitions:
        """Empty transitions for an environment's observations."""
        return cls.empty(spec.obs_size, num_rows, spec.obs_type)


class EpisodeTotals(NamedTuple):
    """Sums over the episodes that ended in each row, [R] float64."""

    episodes: Array
    return_: Array
    length: Array


class VectorEnv:
    """N copies of one environment on the processor.

    An environment's episodes depend on the seed, its number and its actions alone: not on N, nor
    on how many threads share the work. The numbers are `first_env` and on, so that environments of
    one run can be shared out among several vector environments.
    """

    resumes_exactly = True

    def __init__(
        self,
        spec: EnvSpec,
        num_envs: int,
        seed: int,
        stream: int = TRAINING,
        first_env: int = 0,
    ) -> None:
        self.spec, self.num_envs, self._stream = spec, num_envs, stream
        self.num_rows = num_envs * spec.num_agents
        self.has_dead_steps = spec.some_agents_retire
        self.source = RandomSource.of(seed, stream, first_env)
        self.state = EnvState.first(spec, num_envs, stream)
        self.totals = EpisodeTotals(*(np.zeros(self.num_rows) for _ in range(3)))
        self.loops = compile_loops(spec)
        self._has_noticed = False

    def reset(self, obs: Array) -> None:
        """Begin the first episode everywhere; writes `obs` [R, D]."""
        self.state.episode[:] = 0
        self.state.fields[:] = empty_fields(self.spec, self.num_envs, self._stream)
        self.loops.reset(self.state, self.source, obs)

    def begin_anew(self, env: int, obs: Array) -> None:
        """Give up the episode of environment `env` for its next one; writes its rows of `obs`."""
        self.state.episode[env] += 1
        self.loops.begin(env, self.state, self.source, obs)

    def step(self, actions: Array, out: Transitions) -> None:
        """Step every environment with its rows of `actions` [R, ...]; writes `out`."""
        self.loops.step(self.state, self.totals, self.source, actions, out)

    def step_some(self, rows: slice, actions: Array, out: Transitions) -> None:
        """Step only the environments of these rows, with their rows of `actions` [R, ...]. Several
        threads may step different rows at once.
        """
        first, last = (row // self.spec.num_agents for row in (rows.start, rows.stop))
        self.loops.step_range(first, last, self.state, self.totals, self.source, actions, out)

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call."""
        count, return_, length = (float(total.sum()) for total in self.totals)
        for total in self.totals:
            total[:] = 0
        return int(count), return_, length

    def take_notices(self) -> list[str]:
        """`EnvSpec.notice` of the episodes, once."""
        if self._has_noticed or self.spec.notice is None:
            return []
        notice = self.spec.notice(self.state.fields)
        self._has_noticed = bool(notice)
        return [notice] if notice else []

    def close(self) -> None:
        """There is nothing to close."""

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Everything that the next step depends on, as copies."""
        return {name: torch.from_numpy(a.copy()) for name, a in self.state._asdict().items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        for name, array in self.state._asdict().items():
            array[...] = state[name].numpy()


def empty_fields(spec: EnvSpec, num_envs: int, stream: int) -> Array:
    """The state before the first episode.

    Tiles need a field of all environments side by side. An environment that is stepped alone has
    its fields side by side: one cache line of 16 fields, not 16 cache lines.
    """
    if steps_in_tiles(spec):
        fields = np.zeros((spec.state_size, num_envs), np.float32)
    else:
        fields = np.zeros((num_envs, spec.state_size), np.float32).T
    if spec.prepare:
        spec.prepare(fields, num_envs, stream)
    return fields


def steps_in_tiles(spec: EnvSpec) -> bool:
    """Whether many environments are stepped at once: they have one agent, and no episode finds
    anything in its state that was there before.
    """
    return spec.num_agents == 1 and spec.prepare is None


def reset_all(state, source, obs):
    for env in range(len(state.elapsed)):
        begin_episode(env, state, source, obs)


def step_all(state, totals, source, actions, out):
    num_envs = len(state.elapsed)
    for block in prange((num_envs + block_size - 1) // block_size):
        stop = min((block + 1) * block_size, num_envs)
        step_range(block * block_size, stop, state, totals, source, actions, out)


class Loops(NamedTuple):
    """One environment's compiled loops. `step_range` is for the loops of others."""

    begin: Callable[..., None]  # of one environment
    reset: Callable[..., None]
    step: Callable[..., None]
    step_range: Callable[..., None]


@cache
def compile_loops(spec: EnvSpec) -> Loops:
    """The loops around one environment's functions."""
    begin = specialised(begin_episode, spec.name, **compiled_functions(spec))
    has_tiles = steps_in_tiles(spec)
    steps = make_step_range(spec) if has_tiles else one_by_one(spec)
    block = BLOCK if has_tiles else WORLD_BLOCK
    return Loops(
        begin=begin,
        reset=specialised(reset_all, spec.name, begin_episode=begin),
        step=specialised(step_all, spec.name, parallel=True, step_range=steps, block_size=block),
        step_range=steps,
    )
