"""Descriptions of environments: operant's own and those of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..spaces import Box, Discrete, MultiDiscrete, Spaces, symmetric_box
from .preprocessing.settings import AS_IT_IS, Preprocessing
from .workers.dividing import SERIAL, WorkerPlan

# Authors of environments import the spaces from here.
__all__ = ["Box", "Discrete", "EnvSpec", "HostedSpec", "MultiDiscrete", "symmetric_box"]

Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class EnvSpec(Spaces):
    """An environment as three scalar functions over `state` [state_size, N], a column each.

    - `reset(state, env, random)` begins an episode in column `env`;
    - `step(state, env, action)` moves it on and returns (reward, terminated); `action` is an
      integer where actions are `Discrete`, else a row of them;
    - `observe(state, env, obs)` writes the observation to `obs[env]`, a row of obs_size.

    They are compiled by Numba, so they are plain arithmetic on float32: constants are written
    `float32(9.8)`, since a bare 9.8 would make everything it touches float64. Without loops and
    calls, but for those of `streams` and `trigonometry`, a step is compiled for many environments
    at once. `observations` are the bounds for other libraries, None if there are none.

    With several agents, A = `num_agents`, column `env` is the world that they share, and theirs are
    the rows env A to env A + A - 1 of what has a row for each agent:

    - `step(state, env, random, actions, reward, terminated, valid)` reads their actions, and writes
      their rewards and whether an agent's task ended, which retires it; `valid` is False where an
      agent had retired before this step, or takes no part. Returns whether the episode is over for
      all. At the latest it is after `max_episode_steps`; then `reset` begins the next one.
      `random` is that of the episode's reset: steps use other draws of it.
    - `observe(state, env, obs)` writes the observations of all its agents.

    What resets leave alone in the state stays as it is, over all episodes. `prepare(state,
    num_envs, stream)`, on the host and once before the first episode, writes there what episodes
    are to find: settings that are no reason to compile anew, or a curriculum by the env steps that
    an environment counts itself. `num_envs` are those of the run. `notice(state)` says in a line
    what people should know of the episodes so far; empty where there is nothing.

    An environment with action masks, `Spaces.mask_size`, writes them in `observe`; at least one
    option of each choice is legal. With `agents_retire` False every step of every agent is `valid`.

    `evaluate(policy, spec, num_episodes, seed, max_episode_steps, progress, gamma, scenarios)` is
    the `Evaluation` of a policy as the environment's authors have it, in place of one episode in
    each environment; `scenarios(path)` what it begins with: those of a file, or with None its own.
    """

    preprocessing: ClassVar[Preprocessing] = AS_IT_IS

    state_size: int
    max_episode_steps: int
    reset: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]
    observations: Box | None = None
    prepare: Callable[[Array, int, int], None] | None = None
    notice: Callable[[Array], str] | None = None
    evaluate: Callable[..., Any] | None = None
    scenarios: Callable[[Path | None], Sequence[Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class HostedSpec(Spaces):
    """The description of an environment of another library, called `name` there.

    `module` has `make(spec, num_envs, counters)`, which returns a `workers.batched.BatchedEnvs`,
    and perhaps `for_workers(spec)`, the description that workers get. `plan` says how many workers
    step it, `num_threads` on how many threads a library steps all environments at once; 0: as many
    as there are cores. `registered` is the pickled entry of this process's registry, for workers.
    `section` is the table of the configuration that it is made by. With `resets_in_next_step` the
    step after an episode's end ignores its action and only begins the next episode.
    """

    module: str = ""
    stepped_by: str = "workers"
    plan: WorkerPlan = SERIAL
    preprocessing: Preprocessing = AS_IT_IS
    num_threads: int = 0
    registered: bytes = b""
    section: Any = None
    resets_in_next_step: bool = False

    @property
    def setting(self) -> str:
        """The environment as errors name it: `env = 'gymnasium:CartPole-v1'`."""
        return f"env = '{self.host if self.section else f'{self.host}:{self.name}'}'"

    def for_evaluation(self, num_envs: int) -> HostedSpec:
        """The same with whole games, and as many workers as share `num_envs` evenly."""
        return replace(
            self,
            preprocessing=self.preprocessing.for_evaluation(),
            plan=self.plan.for_evaluation(num_envs),
        )
