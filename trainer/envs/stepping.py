"""One step of environments one after the other: for threads that have one environment each, as on a
GPU, and what the loops over tiles must agree with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..compiling import compiled, specialised
from .bindings import env_reset, env_step, max_episode_steps, observe
from .spec import EnvSpec


def one_by_one(spec: EnvSpec) -> Callable[..., None]:
    """`step_range` without vectors: what `tiles.py` must agree with."""
    functions: dict[str, Any] = {
        "env_reset": compiled(spec.reset),
        "env_step": compiled(spec.step),
        "observe": compiled(spec.observe),
        "max_episode_steps": spec.max_episode_steps,
    }
    begin = specialised(begin_episode, spec.name, **functions)
    return specialised(step_range, spec.name, begin_episode=begin, **functions)


def begin_episode(env, state, seed, stream, obs):
    """Reset environment `env` into the episode that `state` says is next."""
    state.elapsed[env] = 0
    state.episode_return[env] = 0.0
    env_reset(state.fields, env, (env, state.episode[env], seed, stream))
    observe(state.fields, env, obs)


def step_range(start, stop, state, totals, seed, stream, actions, out):
    """Step environments `start` to `stop` one by one, as `tiles.py` does many at once.

    For threads that have one environment each.
    """
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
            begin_episode(env, state, seed, stream, out.obs)
        else:
            observe(state.fields, env, out.obs)
