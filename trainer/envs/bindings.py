"""Names that loops over environments leave open: bound for each environment from its `EnvSpec`.

`state` is an `EnvState`, `totals` an `EpisodeTotals`, `out` the `Transitions` of one step, `source`
a `RandomSource`. N are environments, R = N x num_agents the rows of their agents.
"""

from __future__ import annotations

from ..jit.templates import declared, unbound

state_size: int = unbound("fields of an environment's state")
obs_size: int = unbound("numbers in an observation")
num_agents: int = unbound("agents of an environment, each with a row of its own")
block_size: int = unbound("environments that one thread steps at a time")
max_episode_steps: int = unbound("env steps after which an episode is truncated")


@declared
def env_reset(fields, env, random):
    """`EnvSpec.reset`: begin an episode in column `env` of `fields` [state_size, N] float32.

    `random` is (number of the environment, of its episode, seed, stream).
    """


@declared
def env_step(fields, env, action):
    """`EnvSpec.step`: move column `env` of `fields` on; returns (reward, terminated)."""


@declared
def env_step_agents(fields, env, random, actions, reward, terminated, valid):
    """`EnvSpec.step` of several agents: read their rows of `actions`, write those of the others,
    [R] each; returns whether the episode is over. `random` as in `env_reset`.
    """


@declared
def observe(fields, env, obs):
    """`EnvSpec.observe`: write the observation of column `env` to obs[env] [D] float32, or those of
    its agents to their rows.
    """


@declared
def step_range(start, stop, state, totals, source, actions, out):
    """Step environments `start` to `stop` with their `actions` [R, ...], and write their rows of
    `out`; ended episodes begin anew in the same step.
    """
