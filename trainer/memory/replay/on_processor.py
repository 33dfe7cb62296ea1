"""A replay's work on the processor: one compiled call each for writing, sampling and updating.

All in one thread: a batch takes less time than waking a second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from ...jit.compiling import IN_ORDER, compiled_in_order, specialised
from .layout import BLOCK, PART
from .priorities import SEEN, PriorityArrays, accumulate_group, importance, leaf_of, sum_of
from .ring import (
    Ring,
    Steps,
    end_env,
    num_older,
    obs_row,
    older_row,
    place_of,
    write_env,
)
from .sampling import Samples, head_of, num_filled, prioritised_row, settle, take, uniform_row


class OnProcessor:
    """Runs compiled loops over a replay's arrays.

    Loops are given arrays one by one: looking through named tuples takes longer than drawing a
    small batch.
    """

    def __init__(
        self, ring: Ring, sums: PriorityArrays, n_step: int, gamma: float, seed: int
    ) -> None:
        self._sums, self._arrays = _numpy(sums), _numpy(ring) + _numpy(sums)
        self._n_step = n_step
        self._sample = PRIORITISED if len(sums.leaves) else UNIFORM
        self._how = (np.uint64(seed), n_step, gamma)

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled loops that are called, in the order of their first calls."""
        return WRITE, self._sample, *((UPDATE,) if self._sample is PRIORITISED else ())

    def arrays_of(self, tensors: Samples | Steps) -> Any:
        """The arguments of `sample` and `write` for these tensors."""
        return _numpy(tensors)

    def write(self, steps: list[Any]) -> None:
        WRITE(*self._arrays, *steps, self._n_step)

    def end_episodes(self) -> None:
        END(*self._arrays, self._n_step)

    def sample(self, samples: list[Any], beta: float | Tensor) -> None:
        self._sample(*self._arrays, *samples, *self._how, float(beta))

    def update(self, index: Tensor, errors: Tensor, alpha: float, eps: float) -> None:
        UPDATE(*self._sums, index.numpy(), errors.numpy(), alpha, eps)

    def sum_all(self) -> None:
        """Make all sums of the leaves anew."""
        REFRESH(*self._sums)


def _numpy(tensors: Any) -> list[Any]:
    return [x.numpy() if isinstance(x, Tensor) else x for x in tensors]


@compiled_in_order
def write_all(ring, sums, steps, n_step):
    """Append T steps of every environment; the oldest go."""
    num_steps, num_envs = steps.rewards.shape
    num_slots = len(ring.rewards) // num_envs
    head = ring.written[0] % num_slots
    is_whole = len(ring.depths) == 0
    if not is_whole:
        write_frames(ring, steps)
    for t in range(num_steps + 1):
        to = (head + t) % num_slots * num_envs
        for env in range(num_envs):
            if is_whole:
                copy_row(steps.obs, t * num_envs + env, ring.obs, to + env)
            if t < num_steps:
                copy_row(steps.actions, t * num_envs + env, ring.actions, to + env)
    num_lost = 0
    for env in range(num_envs):
        num_lost += write_env(env, ring, steps, sums.leaves, sums.max_leaf[0], n_step)
    ring.written[0] += num_steps
    if num_lost:
        refresh(sums, 0, len(sums.leaves))
    else:
        stop = head + num_steps + 1
        refresh(sums, head * num_envs, min(stop, num_slots) * num_envs)
        refresh(sums, 0, max(stop - num_slots, 0) * num_envs)


@compiled_in_order
def end_all(ring, sums, n_step):
    """Cut off every episode that goes on, in the state it is in."""
    num_lost = 0
    for env in range(len(ring.num_cut)):
        num_lost += end_env(env, ring, sums.leaves, n_step)
    if num_lost:
        refresh(sums, 0, len(sums.leaves))


@compiled_in_order
def refresh(sums, start, stop):
    """Make the sums of leaves `start` to `stop` anew."""
    stop = min(stop, len(sums.leaves))
    if start >= stop:
        return
    for part in range(start // PART, (stop - 1) // PART + 1):
        sums.parts[part] = sum_of(sums.leaves, part)
    for block in range(start // BLOCK, (stop - 1) // BLOCK + 1):
        sums.blocks[block] = sum_of(sums.parts, block)


@compiled_in_order
def sample_uniformly(ring, samples, seed, n_step, gamma):
    """Fill a batch, all rows equally likely.

    One thing at a time for all samples: the processor then waits for many places in memory at once.
    """
    head, filled = head_of(ring), num_filled(ring)
    for sample in range(len(samples.rows)):
        samples.rows[sample] = uniform_row(sample, 0, filled, head, ring, seed)
    for sample in range(len(samples.rows)):
        row = samples.rows[sample]
        settle(sample, row, filled, head, ring, samples, seed, n_step, gamma)
    gather(ring, samples)
    ring.draws[0] += 1


@compiled_in_order
def sample_by_priority(ring, sums, samples, seed, n_step, gamma, beta):
    """Fill a batch by the priorities, and its weights."""
    before = 0.0
    for group in range(len(sums.groups)):
        accumulate_group(group, before, sums)
        before = sums.cumulative[group * PART + PART - 1]
    head = head_of(ring)
    for sample in range(len(samples.rows)):
        samples.rows[sample] = prioritised_row(sample, ring, sums, samples, seed)
    lowest = np.float32(np.inf)
    for sample in range(len(samples.rows)):
        take(sample, samples.rows[sample], head, ring, sums, samples, n_step, gamma)
        if samples.weights[sample] > 0.0:
            lowest = min(lowest, samples.leaves[sample])
    for sample in range(len(samples.rows)):
        if samples.weights[sample] > 0.0:
            samples.weights[sample] = importance(samples.leaves[sample], lowest, beta)
    gather(ring, samples)
    ring.draws[0] += 1


@compiled_in_order
def write_frames(ring, steps):
    """Write the newest frame of each stack of T + 1 steps, and of the very first the older ones."""
    num_envs, num_frames = len(ring.num_cut), num_older(ring)
    kept = ring.obs.shape[1]
    older = steps.obs.shape[1] - kept
    frame = older // num_frames
    for env in range(num_envs if ring.written[0] == 0 else 0):
        for k in range(num_frames):
            copy_part(steps.obs, env, k * frame, ring.obs, k * num_envs + env, 0, frame)
    for row in range(len(steps.obs)):
        t = row // num_envs
        to = place_of(ring.written[0] + t, ring) * num_envs + row - t * num_envs
        copy_part(steps.obs, row, older, ring.obs, to, 0, kept)


@compiled_in_order
def gather(ring, samples):
    """Copy the observations and actions that `samples` names."""
    is_whole = len(ring.depths) == 0
    if not is_whole:
        gather_stacks(ring, samples)
    for sample in range(len(samples.rows)):
        row, place = samples.rows[sample], samples.next_places[sample]
        copy_row(ring.actions, row, samples.actions, sample)
        if is_whole:
            copy_row(ring.obs, row, samples.obs, sample)
            if place >= 0:
                copy_row(ring.obs, place, samples.next_obs, sample)
            else:
                copy_row(ring.finals, -1 - place, samples.next_obs, sample)


@compiled_in_order
def gather_stacks(ring, samples):
    """Put together the stacks of frames that `samples` names."""
    kept = ring.obs.shape[1]
    older = samples.obs.shape[1] - kept
    for sample in range(len(samples.rows)):
        row, place = samples.rows[sample], samples.next_places[sample]
        gather_older(row, ring, samples.obs, sample, older)
        copy_part(ring.obs, obs_row(row, 0, ring), 0, samples.obs, sample, older, kept)
        gather_older(place, ring, samples.next_obs, sample, older)
        if place >= 0:
            copy_part(ring.obs, obs_row(place, 0, ring), 0, samples.next_obs, sample, older, kept)
        else:
            copy_part(ring.finals, -1 - place, 0, samples.next_obs, sample, older, kept)


@compiled_in_order
def gather_older(place, ring, target, sample, older):
    """Copy all frames of a stack but for the newest, which are `older` numbers."""
    num_frames = num_older(ring)
    frame = older // num_frames
    for k in range(num_frames):
        row = older_row(place, num_frames - k, ring)
        copy_part(ring.obs, row, 0, target, sample, k * frame, frame)


@compiled_in_order
def copy_row(source, source_row, target, target_row):
    for part in range(source.shape[1]):
        target[target_row, part] = source[source_row, part]


@compiled_in_order
def copy_part(source, source_row, source_start, target, target_row, target_start, size):
    # Of slices: indices that could be below 0 would make this four times slower.
    to = target[target_row, target_start : target_start + size]
    given = source[source_row, source_start : source_start + size]
    for part in range(size):
        to[part] = given[part]


@compiled_in_order
def update_leaves(sums, index, errors, alpha, eps):
    """Replace the priorities of rows; of a row's several errors the largest counts.

    An error that is not a number refuses the whole update. What is never drawn stays so.
    """
    for i in range(len(index)):
        if not math.isfinite(errors[i]):
            sums.num_refused[0] += 1
            return
    leaves = sums.leaves
    for i in range(len(index)):
        if leaves[index[i]] > 0.0:
            leaves[index[i]] = SEEN
    for i in range(len(index)):
        if leaves[index[i]] != 0.0:
            leaf = leaf_of(errors[i], alpha, eps)
            leaves[index[i]] = max(leaves[index[i]], leaf)
            sums.max_leaf[0] = max(sums.max_leaf[0], leaf)
    for i in range(len(index)):
        part = index[i] // PART
        sums.parts[part] = sum_of(leaves, part)
    for i in range(len(index)):
        block = index[i] // BLOCK
        sums.blocks[block] = sum_of(sums.parts, block)


# Where the arrays of each begin among those that a loop is given.
SUMS = len(Ring._fields)
REST = SUMS + len(PriorityArrays._fields)
OTHERS = REST + len(Samples._fields)
NUM_SUMS = len(PriorityArrays._fields)


def write_flat(*flat):
    ring, sums = Ring(*flat[:SUMS]), PriorityArrays(*flat[SUMS:REST])
    write_all(ring, sums, Steps(*flat[REST:-1]), flat[-1])


def end_flat(*flat):
    end_all(Ring(*flat[:SUMS]), PriorityArrays(*flat[SUMS:REST]), flat[-1])


def uniform_flat(*flat):
    # The last is for draws by priority.
    sample_uniformly(Ring(*flat[:SUMS]), Samples(*flat[REST:OTHERS]), *flat[OTHERS:-1])


def prioritised_flat(*flat):
    ring, sums = Ring(*flat[:SUMS]), PriorityArrays(*flat[SUMS:REST])
    sample_by_priority(ring, sums, Samples(*flat[REST:OTHERS]), *flat[OTHERS:])


def update_flat(*flat):
    update_leaves(PriorityArrays(*flat[:NUM_SUMS]), *flat[NUM_SUMS:])


def refresh_flat(*flat):
    sums = PriorityArrays(*flat)
    refresh(sums, 0, len(sums.leaves))


WRITE = specialised(write_flat, "replay", options=IN_ORDER)
END = specialised(end_flat, "replay", options=IN_ORDER)
UNIFORM = specialised(uniform_flat, "replay", options=IN_ORDER)
PRIORITISED = specialised(prioritised_flat, "replay", options=IN_ORDER)
UPDATE = specialised(update_flat, "replay", options=IN_ORDER)
REFRESH = specialised(refresh_flat, "replay", options=IN_ORDER)
