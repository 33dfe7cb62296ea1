"""One ring of transitions for each environment: what lies where, and how a step is written.

Row `slot * N + env` is a transition of environment `env`. The newest observation lies in the head,
the slot after the newest transition, whose action is still to come: so every transition's next
observation is that of the next slot, each is stored once, and the head's former row is gone.
Transition number w of an environment, counted from 0, lies in slot w % S.

Where observations are stacks of K frames a step adds the newest one alone, and observations are a
ring of their own, P = S + K - 1 places: those before the oldest transition have its older frames.
Number w lies in place (w + K - 1) % P. Its depth says how many steps back its stack goes: up to
K - 1, and 0 where an episode begins, whose first frame stands for those before it as well. Those
before the very first number are written as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...jit.compiling import compiled_in_order

Array = Any  # on the processor, or a tensor or array of a GPU

# What follows a row; above 0 a time limit whose final observation has this number, from 1. LOST is
# a time limit whose final observation was overwritten. LOST and DEAD rows are never drawn.
GOES_ON, TERMINATED, DEAD, LOST = 0, -1, -2, -3


class Ring(NamedTuple):
    """The transitions of N environments in S slots each, and F final observations of each."""

    obs: Array  # [P * N, E] float32 or uint8; E is D without the older frames of a stack
    finals: Array  # [F * N, E] float32 or uint8, the states that time limits cut off
    depths: Array  # [P * N] uint8; empty unless observations are stacks of frames
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
    if len(ring.depths) > 0:
        write_depths(env, ring, steps)
    return num_lost


@compiled_in_order
def write_depths(env, ring, steps):
    """Write how far the stacks of one environment's steps go back."""
    num_steps, num_envs = steps.rewards.shape
    most = num_older(ring)
    place = place_of(ring.written[0], ring)
    depth = np.int64(ring.depths[place * num_envs + env])
    if ring.written[0] == 0:
        depth = most
        ring.depths[place * num_envs + env] = depth
    for t in range(num_steps):
        is_over = steps.terminated[t, env] or steps.truncated[t, env]
        depth = np.int64(0) if is_over else min(depth + 1, most)
        place = place_of(ring.written[0] + t + 1, ring)
        ring.depths[place * num_envs + env] = depth


@compiled_in_order
def num_older(ring):
    """Frames of a stack but for the newest."""
    if len(ring.depths) == 0:
        return np.int64(0)
    return np.int64((len(ring.depths) - len(ring.rewards)) // len(ring.num_cut))


@compiled_in_order
def place_of(number, ring):
    """The place in `ring.obs` of what transition `number` added."""
    num_places = len(ring.obs) // len(ring.num_cut)
    return (number + num_older(ring)) % num_places


@compiled_in_order
def obs_row(row, back, ring):
    """The row of `ring.obs` that has the frame `back` steps older than the newest of transition
    `row`; with 0 what that transition added.
    """
    if len(ring.depths) == 0:
        return row
    num_envs = len(ring.num_cut)
    num_slots = len(ring.rewards) // num_envs
    slot = row // num_envs
    env = row - slot * num_envs
    age = ring.written[0] % num_slots - slot
    number = ring.written[0] - (age if age >= 0 else age + num_slots)
    depth = np.int64(ring.depths[place_of(number, ring) * num_envs + env])
    return place_of(number - min(np.int64(back), depth), ring) * num_envs + env


@compiled_in_order
def older_row(place, back, ring):
    """The row `obs_row` for a place that `n_step_return` returned, and `back` from 1."""
    if place >= 0:
        return obs_row(place, back, ring)
    # A final observation came after the transition that owns it.
    num_envs = len(ring.num_cut)
    final = -1 - place
    return obs_row(ring.owners[final] * num_envs + final % num_envs, back - 1, ring)


@compiled_in_order
def end_env(env, ring, leaves, n_step):
    """Cut off the episode that an environment's newest row belongs to, where it goes on: its final
    observation is the head's. Returns as `write_env`.
    """
    num_envs = len(ring.num_cut)
    num_slots = len(ring.rewards) // num_envs
    head = ring.written[0] % num_slots
    slot = (head if head > 0 else num_slots) - 1
    if ring.written[0] == 0:
        return 0
    newest = obs_row(head * num_envs + env, 0, ring)
    if len(ring.depths) > 0:
        ring.depths[newest] = 0  # of what is written there next
    if ring.endings[slot * num_envs + env] != GOES_ON:
        return 0
    return cut(env, slot, ring.obs, newest, ring, leaves, n_step)


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
    kept = ring.finals.shape[1]
    older = source_obs.shape[1] - kept
    for part in range(kept):
        ring.finals[place, part] = source_obs[source, older + part]
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
