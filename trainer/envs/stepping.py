"""One step of environments one after the other: for threads that have one environment each, as on a
GPU, for environments with several agents, and what the loops over tiles must agree with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import float32

from ..jit.compiling import compiled, specialised_part
from .bindings import (
    env_reset,
    env_step,
    env_step_agents,
    max_episode_steps,
    num_agents,
    obs_size,
    observe,
)
from .spec import EnvSpec

NOTHING = float32(0.0)


def one_by_one(spec: EnvSpec) -> Callable[..., None]:
    """`step_range` without tiles."""
    functions = compiled_functions(spec)
    functions["begin_episode"] = specialised_part(begin_episode, spec.name, **functions)
    return specialised_part(step_range_of(spec), spec.name, **functions)


def compiled_functions(spec: EnvSpec) -> dict[str, Any]:
    """`env_functions` for the processor."""
    return {name: compiled(x) if callable(x) else x for name, x in env_functions(spec).items()}


def env_functions(spec: EnvSpec) -> dict[str, Any]:
    """The names that the loops of this file leave open."""
    return {
        "env_reset": spec.reset,
        "env_step" if spec.num_agents == 1 else "env_step_agents": spec.step,
        "observe": spec.observe,
        "num_agents": spec.num_agents,
        "obs_size": spec.obs_size,
        "max_episode_steps": spec.max_episode_steps,
    }


def step_range_of(spec: EnvSpec) -> Callable[..., None]:
    """The template of an environment's steps."""
    return step_range if spec.num_agents == 1 else step_range_of_agents


def begin_episode(env, state, source, obs):
    """Reset environment `env` into the episode that `state` says is next."""
    state.elapsed[env] = 0
    for row in range(env * num_agents, (env + 1) * num_agents):
        state.episode_return[row] = 0.0
    number = source.first_env + env
    env_reset(state.fields, env, (number, state.episode[env], source.seed, source.stream))
    observe(state.fields, env, obs)


def step_range(start, stop, state, totals, source, actions, out):
    """Step environments `start` to `stop` one by one, as `tiles.py` does many at once."""
    for env in range(start, stop):
        reward, terminated = env_step(state.fields, env, actions[env])
        state.elapsed[env] += 1
        state.episode_return[env] += reward
        # When both happen in one step the end of the task wins: there is nothing to bootstrap.
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
            begin_episode(env, state, source, out.obs)
        else:
            observe(state.fields, env, out.obs)


def step_range_of_agents(start, stop, state, totals, source, actions, out):
    """Step environments `start` to `stop`, all agents of each at once.

    An agent's episode ends when it terminates, and its rows are not valid from then until the
    environment begins its next episode. When that is over, or at the time limit, the episodes of
    all that are left are truncated.
    """
    for env in range(start, stop):
        random = (source.first_env + env, state.episode[env], source.seed, source.stream)
        is_over = env_step_agents(
            state.fields, env, random, actions, out.reward, out.terminated, out.valid
        )
        state.elapsed[env] += 1
        is_over = is_over or state.elapsed[env] >= max_episode_steps
        observe(state.fields, env, out.obs)
        for row in range(env * num_agents, (env + 1) * num_agents):
            if not out.valid[row]:
                out.reward[row] = NOTHING
                out.terminated[row] = False
                out.truncated[row] = False
                continue
            state.episode_return[row] += out.reward[row]
            out.truncated[row] = is_over and not out.terminated[row]
            if out.terminated[row] or out.truncated[row]:
                for part in range(obs_size):
                    out.final_obs[row, part] = out.obs[row, part]
                totals.episodes[row] += 1
                totals.return_[row] += state.episode_return[row]
                totals.length[row] += state.elapsed[env]
                state.episode_return[row] = 0.0
        if is_over:
            state.episode[env] += 1
            begin_episode(env, state, source, out.obs)
