"""One piece of memory that the trainer and its workers share, without a name that could be left.

Source: memfd_create(2); where there is none, a file that is deleted as soon as it is open.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import OperantError
from ...spaces import ActionSpec, ObsType
from .arrays import NOTICE_BYTES, Arrays, Counters, action_dtype, action_shape

ALIGNMENT = 64  # bytes; a cache line, so that no two fields share one


@dataclass(frozen=True)
class Layout:
    """Where the fields of W workers lie, a row for each agent: `[worker][row][...]` per field."""

    num_workers: int
    num_envs: int  # of each worker
    num_agents: int
    obs_size: int
    actions: ActionSpec
    obs_type: ObsType = np.float32

    def fields(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """Types and shapes by name, in their order."""
        rows = (self.num_workers, self.num_envs * self.num_agents)
        f32, flag = np.dtype(np.float32), np.dtype(np.bool_)
        seen = np.dtype(self.obs_type), (*rows, self.obs_size)
        return {
            "actions": (action_dtype(self.actions), (*rows, *action_shape(self.actions))),
            "obs": seen,
            "reward": (f32, rows),
            "terminated": (flag, rows),
            "truncated": (flag, rows),
            "final_obs": seen,
            "valid": (flag, rows),
            "seeds": (np.dtype(np.uint64), (self.num_workers, self.num_envs)),
            # A cache line for each worker: they write all the time.
            "totals": (np.dtype(np.float64), (self.num_workers, ALIGNMENT // 8)),
            "current": (np.dtype(np.int64), (self.num_workers, ALIGNMENT // 8)),
            "notices": (np.dtype(np.uint8), (self.num_workers, NOTICE_BYTES)),
        }

    def offsets(self) -> dict[str, int]:
        """Where each field begins, in bytes; and "end", the size of it all."""
        offsets, end = {}, 0
        for name, (dtype, shape) in self.fields().items():
            offsets[name] = end
            end += -(-prod(shape) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        return {**offsets, "end": end}

    def over(self, memory: Any) -> dict[str, NDArray[Any]]:
        """The fields by name, as arrays over `memory`."""
        offsets = self.offsets()
        return {
            name: np.frombuffer(memory, dtype, prod(shape), offsets[name]).reshape(shape)
            for name, (dtype, shape) in self.fields().items()
        }


class Fields:
    """The fields of a layout over some memory, which goes with the last of them."""

    def __init__(self, layout: Layout, memory: Any) -> None:
        fields = layout.over(memory)
        self.seeds = fields["seeds"]
        self.totals = fields["totals"][:, :3]
        self.current = fields["current"][:, :1]
        self.notices = fields["notices"]
        self._arrays = [fields[name] for name in Arrays._fields]

    def rows(self) -> Arrays:
        """Arrays over the rows of all workers, one after the other."""
        return Arrays(*(field.reshape(-1, *field.shape[2:]) for field in self._arrays))

    def of_worker(self, worker: int) -> tuple[Arrays, Counters]:
        """The arrays and counters of one worker's block."""
        arrays = Arrays(*(field[worker] for field in self._arrays))
        return arrays, Counters(self.totals[worker], self.current[worker], self.notices[worker])


def own_fields(layout: Layout) -> Fields:
    """In memory of this process alone."""
    return Fields(layout, bytearray(layout.offsets()["end"]))


def shared_fields(layout: Layout, file: int) -> Fields:
    """In the memory of an open file."""
    return Fields(layout, mmap.mmap(file, layout.offsets()["end"]))


def nameless_file(size: int) -> int:
    """An open file without a name, of `size` bytes. Raises OperantError where there is no room."""
    import psutil  # which workers need not

    # A file in memory takes what it is asked to, and the kernel then kills whoever it likes.
    if size > psutil.virtual_memory().available:
        raise _no_room(size, "that is more than there is left")
    file = -1
    try:
        if hasattr(os, "memfd_create"):
            file = os.memfd_create("operant-workers")
        else:
            with tempfile.TemporaryFile() as nameless:
                file = os.dup(nameless.fileno())
        os.ftruncate(file, size)
    except OSError as error:
        if file >= 0:
            os.close(file)
        raise _no_room(size, error.strerror or "") from None
    return file


def _no_room(size: int, reason: str) -> OperantError:
    return OperantError(f"no shared memory of {size / 2**20:,.1f} MiB for workers: {reason}")
