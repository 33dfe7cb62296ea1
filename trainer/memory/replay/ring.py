"""One ring of transitions for each environment: what lies where, and how a step is written.

Row `slot * N + env` is a transition of environment `env`. The newest observation lies in the head,
the slot after the newest transition, whose action is still to come: so every transition's next
observation is that of the next slot, each is stored once, and the head's former row is gone.
Transition number w of an environment, counted from 0, lies in slot w % S.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...jit.compiling import compiled_in_order

Array = Any  # on the processor, or a tensor or array of a GPU

# What follows a row; above 0 a time limit whose final observation has this number, from 1. LOST is
# a time limit whose final observation was overwritten. LOST and DEAD rows are never drawn.
GOES_ON, TERMINATED, DEAD, LOST = 0, -1, -2, -3


class Ring(NamedTuple):
    """The transitions of N environments in S slots each, and F final observations of each."""

    obs: Array  # [S * N, D] float32 or uint8
    finals: Array  # [F * N, D] float32 or uint8, the states that time limits cut off
    actions: Array  # [S * N, A]
    rewards: Array  # [S * N] float32
    endings: Array  # [S * N] int32, as above
    owners: Array  # [F * N] int32, the slot of the row that each final observation belongs to
    num_cut: Array  # [N] int64, time limits so far
    written: Array  # [1] int64, transitions of each environment so far
    draws: Array  # [1] int64, number of the next batch


class Steps(NamedTuple):
    """T steps of N environments, as `Rollout` has them, in two dimensions."""

    obs: Array  # [(T + 1) * N, D] float32 or uint8
    actions: Array  # [T * N, A]
    rewards: Array  # [T, N] float32
    terminated: Array  # [T, N] bool
    truncated: Array  # [T, N] bool
    final_obs: Array  # [C * N, D] float32 or uint8
    valid: Array  # [T, N] bool, and anything where there are no dead transitions
    has_dead: Any  # int64, whether `valid` counts
    finals_in_order: Any  # int64, whether `final_obs` holds time limits alone, one after the other


@compiled_in_order
def write_env(env, ring, steps, leaves, new_leaf, n_step):
    """Write all but observations and actions of one environment's T steps; returns how many final
    observations were overwritten before their rows.

    New rows get the priority `new_leaf`, dead ones 0; `leaves` is empty where draws are uniform.
    """
    num_steps, num_envs = steps.rewards.shape
    num_slots = len(ring.rewards) // num_envs
    slot = ring.written[0] % num_slots
    has_priorities = len(leaves) > 0
    num_cut = num_lost = 0
    for t in range(num_steps):
        row = slot * num_envs + env
        ring.rewards[row] = steps.rewards[t, env]
        ending = GOES_ON
        if steps.has_dead and not steps.valid[t, env]:
            ending = DEAD
        elif steps.terminated[t, env]:
            ending = TERMINATED
        ring.endings[row] = ending
        if has_priorities:
            leaves[row] = 0.0 if ending == DEAD else new_leaf
        if steps.truncated[t, env]:
            if ending == GOES_ON:
                source = (num_cut if steps.finals_in_order else t) * num_envs + env
                num_lost += cut(env, slot, steps.final_obs, source, ring, leaves, n_step)
            num_cut += 1
        slot = slot + 1 if slot + 1 < num_slots else 0
    if has_priorities:
        leaves[slot * num_envs + env] = 0.0  # the head is no transition
    return num_lost


@compiled_in_order
def end_env(env, ring, leaves, n_step):
    """Cut off the episode that an environment's newest row belongs to, where it goes on: its final
    observation is the head's. Returns as `write_env`.
    """
    num_envs = len(ring.num_cut)
    num_slots = len(ring.rewards) // num_envs
    head = ring.written[0] % num_slots
    slot = (head if head > 0 else num_slots) - 1
    if ring.written[0] == 0 or ring.endings[slot * num_envs + env] != GOES_ON:
        return 0
    return cut(env, slot, ring.obs, head * num_envs + env, ring, leaves, n_step)


@compiled_in_order
def cut(env, slot, source_obs, source, ring, leaves, n_step):
    """Let an episode end in `slot` by a time limit, in the state `source_obs[source]`.

    Returns 1 where that overwrote a final observation whose row is still there, which is then LOST.
    """
    num_envs = len(ring.num_cut)
    final = ring.num_cut[env] % (len(ring.owners) // num_envs)
    place = final * num_envs + env
    num_lost = 0
    owner = ring.owners[place]
    if ring.endings[owner * num_envs + env] == final + 1:
        ring.endings[owner * num_envs + env] = LOST
        if len(leaves) > 0:
            forbid(env, owner, slot, ring, leaves, n_step)
        num_lost = 1
    for part in range(source_obs.shape[1]):
        ring.finals[place, part] = source_obs[source, part]
    ring.owners[place] = slot
    ring.endings[slot * num_envs + env] = final + 1
    ring.num_cut[env] += 1
    return num_lost


@compiled_in_order
def forbid(env, owner, newest, ring, leaves, n_step):
    """Take the priority of row `owner`, and of those before it that need its final observation."""
    num_envs = len(ring.num_cut)
    num_slots = len(ring.rewards) // num_envs
    # Past the oldest row the ring begins anew with the newest.
    age = newest - owner if newest >= owner else newest - owner + num_slots
    slot = owner
    for _ in range(min(n_step, num_slots - age)):
        leaves[slot * num_envs + env] = 0.0
        slot = slot - 1 if slot > 0 else num_slots - 1
        if ring.endings[slot * num_envs + env] != GOES_ON:
            break
