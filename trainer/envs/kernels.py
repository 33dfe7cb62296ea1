"""The work of a GPU thread for one environment: a step, or many with its state in registers."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64, int64

from ..jit.kernel import Kernel
from ..jit.templates import unbound
from .bindings import (
    env_reset,
    env_step,
    max_episode_steps,
    obs_size,
    observe,
    state_size,
    step_range,
)
from .spec import EnvSpec
from .stepping import begin_episode, env_functions, step_range_of


class Kernels(NamedTuple):
    """One environment's kernels."""

    reset: Kernel
    step: Kernel
    step_many: Kernel


@cache
def make_kernels(spec: EnvSpec) -> Kernels:
    """The kernels around one environment's functions."""
    bindings = env_bindings(spec)
    return Kernels(
        reset=Kernel(reset_one, spec.name, **bindings),
        step=Kernel(step_one, spec.name, **bindings),
        step_many=Kernel(
            step_one_many_times,
            spec.name,
            thread=many_thread,
            loop=many_loop,
            keeps_final=False,
            **bindings,
        ),
    )


def env_bindings(spec: EnvSpec) -> dict[str, Any]:
    """The names that the templates of `envs/stepping.py` and of this file leave open."""
    return {
        **env_functions(spec),
        "step_range": step_range_of(spec),
        "state_size": spec.state_size,
    }


keeps_final: bool = unbound("whether `step_local` observes the states in which episodes end")


def reset_one(env, arguments):
    state, source, obs = arguments
    begin_episode(env, state, source, obs)


def step_one(env, arguments):
    state, totals, source, actions, out = arguments
    step_range(env, env + 1, state, totals, source, actions, out)


def many_thread(size, arguments):
    env = cuda.grid(1)
    if env < size:
        fields = cuda.local.array((state_size, 1), float32)
        counts = cuda.local.array(2, int64)
        return_ = cuda.local.array(1, float64)
        obs = cuda.local.array((2, obs_size), float32)
        step_one_many_times(env, (fields, counts, return_, obs), arguments)


def many_loop(size, arguments):
    for env in range(size):
        fields = np.empty((state_size, 1), np.float32)
        counts = np.empty(2, np.int64)
        return_ = np.empty(1, np.float64)
        obs = np.empty((2, obs_size), np.float32)
        step_one_many_times(env, (fields, counts, return_, obs), arguments)


# Of one environment in memory of its own: `local` is (fields [state_size, 1], counts [2], return_
# [1], obs [2, D]), where the second row of `obs` is for the state in which an episode ended.
ELAPSED, EPISODE = range(2)
NEXT, FINAL = range(2)
OBS = 3


def load_state(env, local, state):
    """Copy an environment's state to memory of its own."""
    fields, counts, return_, _ = local
    for field in range(state_size):
        fields[field, 0] = state.fields[field, env]
    counts[ELAPSED], counts[EPISODE] = state.elapsed[env], state.episode[env]
    return_[0] = state.episode_return[env]


def store_state(env, local, state):
    fields, counts, return_, _ = local
    for field in range(state_size):
        state.fields[field, env] = fields[field, 0]
    state.elapsed[env], state.episode[env] = counts[ELAPSED], counts[EPISODE]
    state.episode_return[env] = return_[0]


def step_local(env, local, totals, source, action):
    """One step as by `step_range`; observations go to `local`. Returns (reward, terminated,
    truncated).
    """
    fields, counts, return_, obs = local
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
        number = source.first_env + env
        env_reset(fields, 0, (number, counts[EPISODE], source.seed, source.stream))
    observe(fields, NEXT, obs)
    return reward, terminated, truncated


def step_one_many_times(env, local, arguments):
    """Steps with the state in registers from the first to the last."""
    state, totals, source, actions, out = arguments
    load_state(env, local, state)
    for k in range(len(out.rewards)):
        reward, terminated, truncated = step_local(env, local, totals, source, actions[k, env])
        out.rewards[k, env] = reward
        out.terminated[k, env] = terminated
        out.truncated[k, env] = truncated
        for part in range(obs_size):
            out.obs[k, part, env] = local[OBS][NEXT, part]
    store_state(env, local, state)
