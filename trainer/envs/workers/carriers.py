"""What carries out commands for blocks of environments: processes, or this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .arrays import Array
from .block import Block
from .region import Fields, Layout, own_fields
from .sources import Source
from .worker import RESET, STEP


class Carrier(Protocol):
    """W workers, from 0."""

    fields: Fields

    def start(self, command: bytes, workers: Sequence[int]) -> None:
        """Give these workers something to do."""

    def finish(self, workers: Sequence[int]) -> None:
        """Until they have done it. Raises whatever went wrong."""

    def close(self) -> None: ...


class Here:
    """One block, in this process, which does what it is told at once. What its environments raise
    is raised as it is.
    """

    def __init__(self, source: Source, layout: Layout, cuts: Array) -> None:
        self.fields = own_fields(layout)
        arrays, counters = self.fields.of_worker(0)
        arrays.valid[:] = True
        envs = source.make(layout.num_envs, counters)
        self._block = Block(envs, layout.num_agents, arrays, counters, cuts)

    def start(self, command: bytes, workers: Sequence[int]) -> None:
        if command == RESET:
            self._block.reset(self.fields.seeds[0])
        elif command == STEP:
            self._block.step()

    def finish(self, workers: Sequence[int]) -> None:
        """It is done."""

    def close(self) -> None:
        self._block.close()
