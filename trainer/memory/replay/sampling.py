"""Which transitions a batch has, and their n-step returns: for one sample each.

    G = r_t + gamma * r_t+1 + ... + gamma^(k-1) * r_t+k-1,   target = G + discount * V(next_obs)

k is n, or less where the episode ends, or where the ring has no newer transition. The discount is
gamma^k, and 0 after a termination; after a time limit `next_obs` is the state it cut off.
Source: Sutton and Barto 2018, eq. 7.1; Pardo et al. 2018, arXiv:1712.00378.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...jit.compiling import compiled_in_order
from ...jit.streams import REPLAY, fine_unit
from .priorities import leaf_at
from .ring import DEAD, LOST, TERMINATED

Array = Any  # on the processor, or a tensor or array of a GPU

MAX_ATTEMPTS = 64
NOWHERE = -1

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ATTEMPT = np.uint64(16)  # above the draw's number, of 48 bits


class Samples(NamedTuple):
    """The arrays of a `Batch`, in two dimensions at most."""

    obs: Array  # [B, D] float32 or uint8
    actions: Array  # [B, A]
    returns: Array  # [B] float32
    next_obs: Array  # [B, D] float32 or uint8
    discounts: Array  # [B] float32
    weights: Array  # [B] float32
    rows: Array  # [B] int64, of the ring
    next_places: Array  # [B] int64, as from `n_step_return`
    leaves: Array  # [B] float32, priorities


@compiled_in_order
def head_of(ring):
    """The slot of the newest observations."""
    return ring.written[0] % (len(ring.rewards) // len(ring.num_cut))


@compiled_in_order
def n_step_return(row, head, ring, n_step, gamma):
    """(whether the row may be drawn, G, discount, place of the next observation).

    A place from 0 is a row of `ring.obs`, and below 0 it is -1 minus a row of `ring.finals`.
    """
    num_envs = len(ring.num_cut)
    num_slots = len(ring.rewards) // num_envs
    slot = row // num_envs
    env = row - slot * num_envs
    return_ = 0.0
    discount = 1.0
    for k in range(n_step):
        here = slot * num_envs + env
        if slot == head:
            break
        ending = ring.endings[here]
        if ending == LOST or (ending == DEAD and k == 0):
            return False, 0.0, 0.0, here
        if ending == DEAD:
            break
        return_ += discount * np.float64(ring.rewards[here])
        discount *= gamma
        slot = slot + 1 if slot + 1 < num_slots else 0
        if ending == TERMINATED:
            return True, return_, 0.0, slot * num_envs + env
        if ending > 0:
            return True, return_, discount, -1 - ((ending - 1) * num_envs + env)
    return True, return_, discount, slot * num_envs + env


@compiled_in_order
def random_at(sample, attempt, ring, seed):
    """A float64 in [0, 1) of this sample of the ring's next batch."""
    draw = np.uint64(ring.draws[0])
    high = (draw >> _HALF) | (np.uint64(attempt) << _ATTEMPT)
    return fine_unit(draw & _LOW, high, sample, seed, REPLAY)


@compiled_in_order
def num_filled(ring):
    """Rows that are there."""
    num_envs = len(ring.num_cut)
    return min(ring.written[0] * num_envs, len(ring.rewards) - num_envs)


@compiled_in_order
def row_at(number, filled, head, ring):
    """The row that so many are older than."""
    row = head * len(ring.num_cut) - filled + number
    return row if row >= 0 else row + len(ring.rewards)


@compiled_in_order
def uniform_row(sample, attempt, filled, head, ring, seed):
    """One of the rows that are there, all equally likely."""
    number = np.int64(random_at(sample, attempt, ring, seed) * filled)
    return row_at(min(number, filled - 1), filled, head, ring)


@compiled_in_order
def settle(sample, row, filled, head, ring, samples, seed, n_step, gamma):
    """Take the row, drawn by `uniform_row`, or where that may not be drawn another.

    Such rows are few: the draw is repeated, and should that not help the next row that may be drawn
    is taken. Where there is none the weight is 0.
    """
    for attempt in range(1, MAX_ATTEMPTS + filled if filled else 0):
        found, return_, discount, place = n_step_return(row, head, ring, n_step, gamma)
        if found:
            keep(sample, row, return_, discount, place, 1.0, samples)
            return
        if attempt < MAX_ATTEMPTS:
            row = uniform_row(sample, attempt, filled, head, ring, seed)
        else:
            row = row + 1 if row + 1 < len(ring.rewards) else 0
            if row == head * len(ring.num_cut):
                row = row_at(0, filled, head, ring)
    keep(sample, np.int64(0), 0.0, 0.0, np.int64(0), 0.0, samples)


@compiled_in_order
def prioritised_row(sample, ring, sums, samples, seed):
    """A row by the priorities, from its own of B equal shares of their sum; -1 where that is 0."""
    share = (sample + random_at(sample, 0, ring, seed)) / len(samples.rows)
    return leaf_at(share, sums)


@compiled_in_order
def take(sample, row, head, ring, sums, samples, n_step, gamma):
    """Take the row, drawn by `prioritised_row`."""
    if row == NOWHERE:
        keep(sample, np.int64(0), 0.0, 0.0, np.int64(0), 0.0, samples)
    else:
        _, return_, discount, place = n_step_return(row, head, ring, n_step, gamma)
        keep(sample, row, return_, discount, place, 1.0, samples)
        samples.leaves[sample] = sums.leaves[row]


@compiled_in_order
def keep(sample, row, return_, discount, place, weight, samples):
    """Write a draw; its priority is to come."""
    samples.rows[sample] = row
    samples.returns[sample] = return_
    samples.discounts[sample] = discount
    samples.next_places[sample] = place
    samples.weights[sample] = weight
    samples.leaves[sample] = 0.0
