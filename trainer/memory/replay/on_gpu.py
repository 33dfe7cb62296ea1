"""A replay's work on a GPU: the functions of the processor's loops, a thread each.

Nothing waits for anything, and all may be captured in graphs. Sums have no atomics: threads that
share one make it anew from the same numbers, and write the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...jit.kernel import Kernel
from .layout import BLOCK, PART
from .priorities import PriorityArrays, accumulate_group, leaf_of, sum_of
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


class OnGPU:
    """Launches kernels over a replay's arrays."""

    loops: tuple[Any, ...] = ()  # kernels are none

    def __init__(
        self, ring: Ring, sums: PriorityArrays, n_step: int, gamma: float, seed: int
    ) -> None:
        self._written, self._draws = ring.written, ring.draws
        self._ring, self._sums = _reachable(ring), sums
        self._n_step = n_step
        self._is_prioritised = len(sums.leaves) > 0
        self._how = (np.uint64(seed), n_step, gamma)

    def arrays_of(self, tensors: Samples | Steps) -> Samples | Steps:
        """The arguments of `sample` and `write` for these tensors."""
        return tensors

    def write(self, steps: Steps) -> None:
        num_steps, num_envs = steps.rewards.shape
        COPY_OBS.launch(steps.obs.numel(), self._ring, steps)
        COPY_ACTIONS.launch(steps.actions.numel(), self._ring, steps)
        WRITE.launch(num_envs, self._ring, self._sums, steps, self._n_step)
        self._written += num_steps
        self.sum_all()

    def end_episodes(self) -> None:
        END.launch(len(self._ring.num_cut), self._ring, self._sums, self._n_step)
        self.sum_all()

    def sample(self, samples: Samples, beta: float | Tensor) -> None:
        size, sums = len(samples.rows), self._sums
        if self._is_prioritised:
            SUM_GROUPS.launch(len(sums.groups), sums)
            ACCUMULATE.launch(len(sums.groups), sums)
            PRIORITISED.launch(size, self._ring, sums, samples, *self._how)
            set_weights(samples, beta)
        else:
            UNIFORM.launch(size, self._ring, sums, samples, *self._how)
        self.gather(samples)
        self._draws += 1

    def gather(self, samples: Samples) -> None:
        GATHER_OBS.launch(samples.obs.numel(), self._ring, samples)
        GATHER_ACTIONS.launch(samples.actions.numel(), self._ring, samples)

    def update(self, index: Tensor, errors: Tensor, alpha: float, eps: float) -> None:
        sums = self._sums
        is_good = torch.isfinite(errors).all().view(1)
        new = torch.zeros_like(errors)
        REPLACE.launch(len(index), sums, index, errors, is_good, new, alpha, eps)
        SUM_MY_PART.launch(len(index), sums, index)
        SUM_MY_BLOCK.launch(len(index), sums, index)
        torch.maximum(sums.max_leaf, new.amax(), out=sums.max_leaf)
        sums.num_refused.add_(~is_good)

    def sum_all(self) -> None:
        """Make all sums of the leaves anew."""
        if self._is_prioritised:
            SUM_PARTS.launch(len(self._sums.parts), self._sums)
            SUM_BLOCKS.launch(len(self._sums.leaves) // BLOCK, self._sums)


def set_weights(samples: Samples, beta: float | Tensor) -> None:
    """Importance weights of the rows that were drawn, the largest 1."""
    leaves = samples.leaves.double()
    lowest = torch.where(leaves > 0, leaves, math.inf).amin()
    samples.weights.copy_(torch.where(leaves > 0, (lowest / leaves) ** beta, 0.0))


def _reachable(ring: Ring) -> Ring:
    """The ring with observations of main memory, where they are there, as arrays of the GPU: it
    reaches for pinned memory under the address that the processor has for it.
    """
    if ring.obs.is_cuda or not ring.obs.is_pinned():
        return ring
    return ring._replace(obs=_Pinned.view(ring.obs), finals=_Pinned.view(ring.finals))


class _Pinned:
    """Says where a tensor in pinned memory lies, to who asks for memory of a GPU."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.__cuda_array_interface__ = {
            "shape": tuple(tensor.shape),
            "typestr": tensor.numpy().dtype.str,
            "data": (tensor.data_ptr(), False),
            "strides": None,
            "version": 3,
        }

    @classmethod
    def view(cls, tensor: Tensor) -> Any:
        from numba import cuda

        return cuda.as_cuda_array(cls(tensor))


def copy_obs_one(i, arguments):
    ring, steps = arguments
    num_envs, size = len(ring.num_cut), steps.obs.shape[1]
    older = size - ring.obs.shape[1]
    row = i // size
    part = i - row * size
    t = row // num_envs
    number = ring.written[0] + t
    if part >= older:
        to = place_of(number, ring) * num_envs + row - t * num_envs
        ring.obs[to, part - older] = steps.obs[row, part]
    elif number == 0:  # the older frames of the first observations, before them
        frame = older // num_older(ring)
        k = part // frame
        ring.obs[k * num_envs + row, part - k * frame] = steps.obs[row, part]


def copy_action_one(i, arguments):
    ring, steps = arguments
    size = ring.actions.shape[1]
    row = i // size
    ring.actions[ring_row(row, ring), i - row * size] = steps.actions[row, i - row * size]


def ring_row(row, ring):
    """The row of the ring that row t * N + env of a rollout belongs to."""
    num_envs = len(ring.num_cut)
    return (ring.written[0] * num_envs + row) % len(ring.rewards)


def write_one(env, arguments):
    ring, sums, steps, n_step = arguments
    write_env(env, ring, steps, sums.leaves, sums.max_leaf[0], n_step)


def end_one(env, arguments):
    ring, sums, n_step = arguments
    end_env(env, ring, sums.leaves, n_step)


def uniform_sample_one(sample, arguments):
    ring, _, samples, seed, n_step, gamma = arguments
    head, filled = head_of(ring), num_filled(ring)
    row = uniform_row(sample, 0, filled, head, ring, seed)
    settle(sample, row, filled, head, ring, samples, seed, n_step, gamma)


def prioritised_sample_one(sample, arguments):
    ring, sums, samples, seed, n_step, gamma = arguments
    row = prioritised_row(sample, ring, sums, samples, seed)
    take(sample, row, head_of(ring), ring, sums, samples, n_step, gamma)


def gather_obs_one(i, arguments):
    ring, samples = arguments
    size = samples.obs.shape[1]
    sample = i // size
    part = i - sample * size
    older = size - ring.obs.shape[1]
    row, place = samples.rows[sample], samples.next_places[sample]
    if part < older:  # of the older frames of stacks
        num_frames = num_older(ring)
        frame = older // num_frames
        k = part // frame
        column, back = part - k * frame, num_frames - k
        samples.obs[sample, part] = ring.obs[older_row(row, back, ring), column]
        samples.next_obs[sample, part] = ring.obs[older_row(place, back, ring), column]
        return
    column = part - older
    samples.obs[sample, part] = ring.obs[obs_row(row, 0, ring), column]
    if place >= 0:
        samples.next_obs[sample, part] = ring.obs[obs_row(place, 0, ring), column]
    else:
        samples.next_obs[sample, part] = ring.finals[-1 - place, column]


def gather_action_one(i, arguments):
    ring, samples = arguments
    size = ring.actions.shape[1]
    sample = i // size
    part = i - sample * size
    samples.actions[sample, part] = ring.actions[samples.rows[sample], part]


def sum_part_one(part, arguments):
    (sums,) = arguments
    sums.parts[part] = sum_of(sums.leaves, part)


def sum_block_one(block, arguments):
    (sums,) = arguments
    sums.blocks[block] = sum_of(sums.parts, block)


def sum_group_one(group, arguments):
    (sums,) = arguments
    sums.groups[group] = sum_of(sums.blocks, group)


def accumulate_one(group, arguments):
    (sums,) = arguments
    before = 0.0
    for earlier in range(group):
        before += sums.groups[earlier]
    accumulate_group(group, before, sums)


def replace_one(i, arguments):
    """The larger of all errors of one row: each of its threads finds it, and writes the same."""
    sums, index, errors, is_good, new, alpha, eps = arguments
    row = index[i]
    if is_good[0] and sums.leaves[row] > 0.0:
        leaf = leaf_of(errors[i], alpha, eps)
        for k in range(len(index)):
            if index[k] == row:
                leaf = max(leaf, leaf_of(errors[k], alpha, eps))
        sums.leaves[row] = leaf
        new[i] = leaf


def sum_my_part_one(i, arguments):
    sums, index = arguments
    part = index[i] // PART
    sums.parts[part] = sum_of(sums.leaves, part)


def sum_my_block_one(i, arguments):
    sums, index = arguments
    block = index[i] // BLOCK
    sums.blocks[block] = sum_of(sums.parts, block)


COPY_OBS, COPY_ACTIONS = Kernel(copy_obs_one, "replay"), Kernel(copy_action_one, "replay")
WRITE, END = Kernel(write_one, "replay"), Kernel(end_one, "replay")
UNIFORM = Kernel(uniform_sample_one, "replay")
PRIORITISED = Kernel(prioritised_sample_one, "replay")
GATHER_OBS, GATHER_ACTIONS = Kernel(gather_obs_one, "replay"), Kernel(gather_action_one, "replay")
SUM_PARTS, SUM_BLOCKS = Kernel(sum_part_one, "replay"), Kernel(sum_block_one, "replay")
SUM_GROUPS, ACCUMULATE = Kernel(sum_group_one, "replay"), Kernel(accumulate_one, "replay")
REPLACE = Kernel(replace_one, "replay")
SUM_MY_PART, SUM_MY_BLOCK = Kernel(sum_my_part_one, "replay"), Kernel(sum_my_block_one, "replay")
