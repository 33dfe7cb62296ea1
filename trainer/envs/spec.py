"""What an environment says about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Discrete:
    """Actions 0 to `n` - 1."""

    n: int


@dataclass(frozen=True)
class MultiDiscrete:
    """Several choices at once: choice i is one of 0 to `nvec[i]` - 1. Actions are [N, choices]."""

    nvec: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """Real numbers, each within its own bounds. Actions are [N, action_size] float32."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def action_size(self) -> int:
        return len(self.low)


def symmetric_box(*high: float) -> Box:
    """From minus these bounds to plus these."""
    return Box(tuple(-bound for bound in high), high)


ActionSpec = Discrete | MultiDiscrete | Box


class Spaces(Protocol):
    """What a policy needs to know of an environment."""

    @property
    def obs_size(self) -> int: ...

    @property
    def actions(self) -> ActionSpec: ...


ObsType = type[np.float32] | type[np.uint8]


def obs_type(spec: Any) -> ObsType:
    """What observations are kept as: float32, unless an environment's are bytes."""
    found: ObsType = getattr(spec, "obs_type", np.float32)
    return found


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
    at once. `observations` are the bounds told to others, none where there are none.

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

    `obs_type` is what observations are made of: float32, or uint8 where they are no numbers to
    compute with, as tokens. `make_embedding(seed)` is for those: a module of PyTorch that every
    policy's networks begin with, from observations [..., obs_size] to `num_features` features.

    `agents_retire` is False where the episode of all agents of an environment ends at once, and all
    take part in all of it: every step of theirs is `valid`.

    `make_encoder(seed)` gives a module of PyTorch for what learns from replay: from observations
    [B, obs_size] to `num_features` features, before the layers that are configured.

    `adaptive_risk(obs)` tells of observations [B, obs_size], as tensors, which lower part of the
    return [B] is to count for who acts by implicit quantiles and is careful where that is due.

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
    adaptive_risk: Callable[[Any], Any] | None = None
    notice: Callable[[Array], str] | None = None
    evaluate: Callable[..., Any] | None = None
    scenarios: Callable[[Path | None], Sequence[Any]] | None = None
    obs_type: ObsType = np.float32
    make_embedding: Callable[[int], Any] | None = None
    agents_retire: bool = True
