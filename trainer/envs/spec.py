"""What an environment says about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import ANY_NUMBERS, ActionSpec, Box, Discrete, MultiDiscrete, ObsType, symmetric_box

# Authors of environments import the spaces from here.
__all__ = ["Box", "Discrete", "EnvSpec", "MultiDiscrete", "symmetric_box"]

Array = NDArray[np.float32]


@dataclass(frozen=True)
class EnvSpec:
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

    `obs_type` is what observations are made of: float32, or uint8 for images, which also have an
    `obs_shape`, and for tokens, which are no numbers to compute with. A row of `obs` is an
    observation flattened. `obs_range` is the smallest and the largest number in one.

    With a `mask_size` the last so many of the `obs_size` numbers of a row are an action mask that
    `observe` writes: 1 for each legal choice and 0 for the others, those of `MultiDiscrete` one
    after the other. At least one option of each choice is legal.

    `agents_retire` is False where the episode of all agents of an environment ends at once, and all
    take part in all of it: every step of theirs is `valid`.

    `make_encoder(seed)` gives a module of PyTorch that networks begin with: from observations
    [..., obs_size] to `num_features` features, before the layers that are configured.

    `evaluate(policy, spec, num_episodes, seed, max_episode_steps, progress, gamma, scenarios)` is
    the `Evaluation` of a policy as the environment's authors have it, in place of one episode in
    each environment; `scenarios(path)` what it begins with: those of a file, or with None its own.
    """

    name: str
    state_size: int
    obs_size: int
    actions: ActionSpec
    max_episode_steps: int
    reset: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]
    observations: Box | None = None
    num_agents: int = 1
    prepare: Callable[[Array, int, int], None] | None = None
    make_encoder: Callable[[int], Any] | None = None
    notice: Callable[[Array], str] | None = None
    evaluate: Callable[..., Any] | None = None
    scenarios: Callable[[Path | None], Sequence[Any]] | None = None
    obs_type: ObsType = np.float32
    obs_shape: tuple[int, ...] = ()
    obs_range: tuple[float, float] = ANY_NUMBERS
    agents_retire: bool = True
    mask_size: int = 0
