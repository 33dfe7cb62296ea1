"""One step of many environments as loops over vectors, and a rare pass for the episodes that ended.

Environments are taken a tile at a time onto the stack, where the compiler can see that nothing
overlaps: it then makes vectors of the environment's scalar functions, whatever they are. A tile is
always computed whole, its unused columns as copies of the first, so an environment's numbers do
not depend on where in a tile it lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from ..jit.compiling import OPTIONS, part, specialised_part
from ..jit.templates import declared, unbound
from ..spaces import Discrete, MultiDiscrete
from .bindings import env_reset, env_step, max_episode_steps, obs_size, observe, state_size
from .spec import EnvSpec

NewArray = Callable[[], Any]

TILE = 128  # environments on the stack at once: state, actions and observations stay in cache
GROUP = 8  # episodes begun at once: a vector of 64-bit words holds that many

# Memory of one tile and of one group of begun episodes, on the stack; bound by `make_step_range`.
new_fields: NewArray = unbound("() -> [state_size, TILE] float32")
new_actions: NewArray = unbound("() -> [TILE, ...] int32 or float32")
new_obs: NewArray = unbound("() -> [TILE, D] float32 or uint8")
new_rewards: NewArray = unbound("() -> [TILE] float32")
new_flags: NewArray = unbound("() -> [TILE] bool")
new_ended: NewArray = unbound("() -> [TILE + 1] int32")
new_group_fields: NewArray = unbound("() -> [state_size, GROUP] float32")
new_group_obs: NewArray = unbound("() -> [GROUP, D] float32 or uint8")
new_group_words: NewArray = unbound("() -> [GROUP] int64")


ALIGNMENT_BYTES = 64

inlined: Any = partial(part, **OPTIONS, forceinline=True)


def stack_array(shape: tuple[int, ...], dtype: Any) -> Callable[[], Any]:
    """A function that gives compiled code an uninitialised array, valid until that code returns."""
    item = from_dtype(np.dtype(dtype))
    array = types.Array(item, len(shape), "C")

    @intrinsic
    def make(typing_context):
        def codegen(context, builder, signature, arguments):
            item_type = context.get_data_type(item)
            memory = cgutils.alloca_once(builder, ir.ArrayType(item_type, math.prod(shape)))
            memory.align = ALIGNMENT_BYTES
            item_bytes = context.get_abi_sizeof(item_type)
            strides = [item_bytes * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]

            def constants(numbers):
                return cgutils.pack_array(
                    builder, [context.get_constant(types.intp, number) for number in numbers]
                )

            made = make_array(array)(context, builder)
            populate_array(
                made,
                data=builder.bitcast(memory, item_type.as_pointer()),
                shape=constants(shape),
                strides=constants(strides),
                itemsize=context.get_constant(types.intp, item_bytes),
                meminfo=None,
            )
            return made._getvalue()

        return array(), codegen

    return cast(Callable[[], Any], make)


@declared
def copy_actions(source, target):
    """Copy the actions of a tile to `target`, and its first one to the rest of `target`."""


def make_step_range(spec: EnvSpec) -> Callable[..., None]:
    """`step_range(start, stop, state, totals, source, actions, out)` for one environment, whose
    resets read nothing of the state.
    """
    bindings: dict[str, Any] = {
        "env_reset": inlined(spec.reset),
        "env_step": inlined(spec.step),
        "observe": inlined(spec.observe),
        "state_size": spec.state_size,
        "obs_size": spec.obs_size,
        "max_episode_steps": np.int32(spec.max_episode_steps),
        "new_fields": stack_array((spec.state_size, TILE), np.float32),
        "new_obs": stack_array((TILE, spec.obs_size), spec.obs_type),
        "new_rewards": stack_array((TILE,), np.float32),
        "new_flags": stack_array((TILE,), np.bool_),
        "new_ended": stack_array((TILE + 1,), np.int32),
        "new_group_fields": stack_array((spec.state_size, GROUP), np.float32),
        "new_group_obs": stack_array((GROUP, spec.obs_size), spec.obs_type),
        "new_group_words": stack_array((GROUP,), np.int64),
        **_action_bindings(spec),
    }
    bindings["begin_episodes"] = specialised_part(begin_episodes, spec.name, **bindings)
    bindings["end_episodes"] = specialised_part(end_episodes, spec.name, **bindings)
    bindings["step_tile"] = specialised_part(step_tile, spec.name, **bindings)
    return specialised_part(step_range, spec.name, **bindings)


def _action_bindings(spec: EnvSpec) -> dict[str, Any]:
    """How actions are laid out: numbers, or rows of them."""
    actions = spec.actions
    if isinstance(actions, Discrete):
        memory = stack_array((TILE,), np.int32)
        return {"new_actions": memory, "copy_actions": copy_padded}
    is_whole = isinstance(actions, MultiDiscrete)
    size = len(actions.nvec) if isinstance(actions, MultiDiscrete) else actions.action_size
    memory = stack_array((TILE, size), np.int32 if is_whole else np.float32)
    return {"new_actions": memory, "copy_actions": copy_rows}


def step_range(start, stop, state, totals, source, actions, out):
    """Step environments `start` to `stop`; ended episodes begin anew in the same step."""
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        step_tile(first, last, state, totals, source, actions, out)


def step_tile(first, last, state, totals, source, actions, out):
    """Do the work of `step_range` for at most TILE environments.

    Each loop is over few arrays: the compiler makes no vectors where it would have to ask of too
    many pairs whether they overlap.
    """
    rows = last - first
    fields, tile_actions, obs = new_fields(), new_actions(), new_obs()
    rewards, terminated, truncated = new_rewards(), new_flags(), new_flags()
    for field in range(state_size):
        copy_padded(state.fields[field, first:last], fields[field])
    copy_actions(actions[first:last], tile_actions)
    for i in range(TILE):
        rewards[i], terminated[i] = env_step(fields, i, tile_actions[i])
    for i in range(TILE):
        observe(fields, i, obs)

    episode_return, elapsed = state.episode_return[first:last], state.elapsed[first:last]
    for i in range(rows):
        episode_return[i] += rewards[i]
    for i in range(rows):
        elapsed[i] += np.int32(1)
    for i in range(rows):
        # When both happen in one step the end of the task wins: there is nothing to bootstrap.
        truncated[i] = (elapsed[i] >= max_episode_steps) & (not terminated[i])
    end_episodes(
        first, rows, state, totals, source, fields, obs, terminated, truncated, out.final_obs
    )
    for field in range(state_size):
        copy(fields[field], state.fields[field, first:last])
    copy(obs.reshape(-1), out.obs.reshape(-1)[first * obs_size : last * obs_size])
    copy(rewards, out.reward[first:last])
    copy(terminated, out.terminated[first:last])
    copy(truncated, out.truncated[first:last])


def end_episodes(first, rows, state, totals, source, fields, obs, terminated, truncated, final_obs):
    """Count the episodes of a tile that ended, keep where they did, and begin the next ones."""
    ended = new_ended()
    count = 0
    for i in range(rows):
        ended[count] = i
        count += terminated[i] | truncated[i]
    for k in range(count):
        i = ended[k]
        env = first + i
        for column in range(obs_size):
            final_obs[env, column] = obs[i, column]
        totals.episodes[env] += 1
        totals.return_[env] += state.episode_return[env]
        totals.length[env] += state.elapsed[env]
        state.episode_return[env] = 0.0
        state.elapsed[env] = 0
        state.episode[env] += 1
    for k in range(0, count, GROUP):
        chosen = ended[k : min(k + GROUP, count)]
        begin_episodes(first, chosen, state.episode, source, fields, obs)


def begin_episodes(first, chosen, episode, source, fields, obs):
    """Begin an episode in the columns `chosen` of a tile, at most GROUP of them."""
    group_fields, group_obs = new_group_fields(), new_group_obs()
    envs, episodes = new_group_words(), new_group_words()
    for k in range(GROUP):
        envs[k] = first + chosen[min(k, len(chosen) - 1)]
        episodes[k] = episode[envs[k]]
    for k in range(GROUP):
        number = source.first_env + envs[k]
        env_reset(group_fields, k, (number, episodes[k], source.seed, source.stream))
    for k in range(GROUP):
        observe(group_fields, k, group_obs)
    for k in range(len(chosen)):
        for field in range(state_size):
            fields[field, chosen[k]] = group_fields[field, k]
        for column in range(obs_size):
            obs[chosen[k], column] = group_obs[k, column]


@inlined
def copy(source, target):
    """Copy as much of `source` as `target` holds."""
    for i in range(len(target)):
        target[i] = source[i]


@inlined
def copy_padded(source, target):
    """`source`, and its first item for the rest of `target`."""
    for i in range(len(source)):
        target[i] = source[i]
    for i in range(len(source), len(target)):
        target[i] = source[0]


@inlined
def copy_rows(source, target):
    for row in range(len(target)):
        for i in range(target.shape[1]):
            target[row, i] = source[row if row < len(source) else 0, i]
