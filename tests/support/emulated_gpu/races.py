"""PyTorch's CUDA Sanitizer on emulated GPUs, with eyes for all that operant does.

    with races() as sanitizer: ...
    assert sanitizer.found == []

PyTorch's own is switched on as it is: it stops at the first race between operations of PyTorch on
tensors that begin at the same address. A second one, on the same clocks of streams and events
(`EventHandler`), is fed by the emulation, byte by byte, with

- operations of every thread, as backward passes have their own;
- operant's kernels, which are taken to read and write all tensors that they are given;
- all that a graph reads and writes, each time when it is replayed;
- copies, and pinned memory at either end of them;
- what the host reads of pinned memory and writes to it, against the events that it waited for;
- memory that the allocator gives out again: it is written to by the stream that asks for it, after
  streams that `record_stream` named, and after no other.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import TorchDispatchMode

from .delays import PINNED, delays
from .emulation import Operation, block_of, memory_at
from .watching import Observation, watching

# PyTorch's hooks for events and memory cannot be switched off once they are on, and hide errors of
# captures. The null runtime reports here what these would.
with mock.patch.object(torch._C, "_activate_gpu_trace"):
    from torch.cuda import _sanitizer

HOST = -1
ASKED_IN_VAIN = 4  # asks of the host before it hears that an event is over
# Reads and writes of these are seen by the copy that they start.
COPIES = ("aten::copy_", "aten::_to_copy", "aten::is_pinned", "aten::record_stream")
WAITING_COPIES = ("aten::copy_", "aten::_to_copy", "aten::_local_scalar_dense")
Marks = NDArray[np.int32]


class Memory:
    """An allocation: for each stream the last operation that read and that wrote each byte."""

    def __init__(self, start: int, size: int) -> None:
        self.start, self.size = start, size
        self.by_stream: dict[int, tuple[Marks, Marks]] = {}

    def of(self, stream: int) -> tuple[Marks, Marks]:
        if stream not in self.by_stream:
            reads, writes = (np.zeros(self.size, np.int32) for _ in range(2))
            self.by_stream[stream] = reads, writes
        return self.by_stream[stream]

    def part(self, marks: Marks, tensor: torch.Tensor) -> Marks:
        """The marks of a tensor's bytes."""
        first = tensor.data_ptr() - self.start
        if tensor.is_contiguous():
            return marks[first : first + tensor.nbytes]
        size = tensor.element_size()
        shape = (*tensor.shape, size)
        steps = [4 * size * x for x in tensor.stride()]
        return np.lib.stride_tricks.as_strided(marks[first:], shape, (*steps, 4))


class Races:
    """Races `found`, one line for each. `is_alone` if no schedule delays the work."""

    is_late = False

    def __init__(self, is_alone: bool) -> None:
        self.found: list[str] = []
        self._handler = _sanitizer.EventHandler()
        self._handlers = [self._handler]
        self.pytorchs: Any = None
        if is_alone:
            with mock.patch.object(torch._C, "_activate_gpu_trace"):
                self.pytorchs = _sanitizer.CUDASanitizerDispatchMode()
            self._handlers.append(self.pytorchs.event_handler)
        self._is_alone = is_alone
        self._num_asked = 0  # in a row, whether an event is over
        self._names = ["what was before"]
        self._memory: dict[int, Memory] = {}
        self._recorded: list[tuple[int, int, int]] = []  # addresses from and to, stream
        self.num_accesses = {"device": 0, "host": 0}

    def launched(self, operation: Operation, work: object, stream: int) -> None:
        self._num_asked = 0
        self._access(operation.name, stream, operation.reads, operation.writes)

    def allocated(self, memory: torch.Tensor) -> None:
        start, end = memory.data_ptr(), memory.data_ptr() + memory.nbytes
        if self.pytorchs:
            self.pytorchs.event_handler._handle_memory_allocation(start)
        for recorded in list(self._recorded):
            if recorded[0] < end and start < recorded[1]:
                self._recorded.remove(recorded)
                found = self._memory_of(memory)
                if found is not None:
                    for marks in found.of(recorded[2]):
                        marks[recorded[0] - found.start : recorded[1] - found.start] = 0

    def recorded(self, memory: torch.Tensor, stream: int) -> None:
        start = memory.data_ptr()
        self._recorded.append((start, start + memory.nbytes, stream))

    def finish(self) -> None:
        pass

    def observe(self, what: Observation, a: int, b: int, size: int, stream: int) -> int:
        if what == Observation.COPIED:
            self._access("a copy", stream, [memory_at(b, size)], [memory_at(a, size)])
        if what == Observation.FILLED:
            self._access("a fill", stream, [], [memory_at(a, size)])
        if what == Observation.FREED:
            self._memory.pop(a, None)
        for handler in self._handlers:
            match what:
                case Observation.RECORDED:
                    handler._handle_event_record(a, stream)
                case Observation.AWAITED:
                    handler._handle_event_wait(a, stream)
                case Observation.EVENT_SYNCHRONIZED:
                    handler._handle_event_synchronization(a)
                case Observation.STREAM_SYNCHRONIZED:
                    handler._handle_stream_synchronization(stream)
                case Observation.DEVICE_SYNCHRONIZED | Observation.FREED:
                    handler._handle_device_synchronization()
                case Observation.EVENT_DESTROYED:
                    handler.syncs.recorded_sync_states.pop(a, None)
                case Observation.COPIED if not block_of(memory_at(a, size)):  # the host waits
                    handler._handle_stream_synchronization(stream)
        return 0

    def host_accesses(
        self, name: str, reads: Sequence[torch.Tensor], writes: Sequence[torch.Tensor]
    ) -> None:
        pinned = [[x for x in tensors if is_pinned(x)] for tensors in (reads, writes)]
        if any(pinned):
            self._access(f"the host's {name}", HOST, *pinned)

    def copied(self, *values: Any) -> None:
        """PyTorch's sanitizer has seen the wait of such a copy, but before it saw the copy."""
        sides = {x.is_cuda for x in values if isinstance(x, torch.Tensor)}
        is_read = not isinstance(values[0], torch.Tensor)
        if self.pytorchs and (is_read or len(sides) == 2):
            stream = torch.cuda.current_stream().cuda_stream
            self.pytorchs.event_handler._handle_stream_synchronization(stream)

    def querying(self, event: int) -> bool:
        """A host that heard at once that all is done would have waited for it, and so would
        whatever it launches next. It is not told before it does nothing but ask.
        """
        self._num_asked = (self._num_asked + 1) % ASKED_IN_VAIN
        return self._is_alone and self._num_asked != 0

    def happened(self, event: int) -> None:
        for handler in self._handlers:
            handler._handle_event_synchronization(event)

    def _access(
        self, name: str, stream: int, reads: Sequence[torch.Tensor], writes: Sequence[torch.Tensor]
    ) -> None:
        syncs = self._handler.syncs
        self.num_accesses["host" if stream == HOST else "device"] += 1
        if stream == HOST:
            clock = syncs.host_sync_state
        else:
            self._handler.seq_num += 1
            syncs.update_seq_num(stream, self._handler.seq_num)
            self._names.append(f"{name}{place_in_operant()}")
            clock = syncs.current_sync_states[stream]
        for is_write, tensors in ((False, reads), (True, writes)):
            for x in tensors:
                memory = self._memory_of(x) if x.numel() else None
                if memory is None:
                    continue
                self._check(name, stream, clock, memory, x, is_write)
                if stream != HOST:
                    marks = memory.of(stream)[is_write]
                    memory.part(marks, x)[...] = self._handler.seq_num

    def _check(
        self,
        name: str,
        stream: int,
        clock: dict[int, int],
        memory: Memory,
        tensor: torch.Tensor,
        is_write: bool,
    ) -> None:
        for other, (reads, writes) in memory.by_stream.items():
            if other == stream:
                continue
            known = max(clock.get(other, 0), 0)
            for marks, did in ((writes, "wrote"), (reads, "read"))[: 1 + is_write]:
                last = int(memory.part(marks, tensor).max())
                if last > known:
                    now = "writes" if is_write else "reads"
                    who = "" if stream == HOST else f" on stream {stream:#x}"
                    self.found.append(
                        f"{name}{place_in_operant()}{who} {now} what {self._names[last]} on stream "
                        f"{other:#x} {did}, and has not waited for it"
                    )

    def _memory_of(self, tensor: torch.Tensor) -> Memory | None:
        block = block_of(tensor)
        if not block:
            return None
        _, start, size = block
        if start not in self._memory:
            self._memory[start] = Memory(start, size)
        return self._memory[start]


def is_pinned(tensor: torch.Tensor) -> bool:
    if tensor.device.type != "cpu" or not tensor.numel():
        return False
    block = block_of(tensor)
    return bool(block and block[0] == PINNED)


def place_in_operant() -> str:
    """Where in the trainer the call comes from."""
    frame = sys._getframe(1)
    while frame := frame.f_back:  # type: ignore[assignment]
        if "/trainer/" in frame.f_code.co_filename:
            name = frame.f_code.co_filename.rpartition("/trainer/")[2]
            return f" (trainer/{name}:{frame.f_lineno})"
    return ""


class HostOperations(TorchDispatchMode):
    """Reports operations of the processor on pinned memory."""

    def __init__(self, sanitizer: Races) -> None:
        super().__init__()
        self._sanitizer = sanitizer

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        result = operation(*args, **given)
        schema = operation._schema
        if schema.name in WAITING_COPIES and not (given.get("non_blocking") or True in args[2:3]):
            self._sanitizer.copied(result, *args)
        if operation.is_view or (schema.name in COPIES and not only_host((*args, *given.values()))):
            return result
        reads: list[torch.Tensor] = []
        writes: list[torch.Tensor] = []
        named = zip(schema.arguments, args, strict=False)
        by_name = {x.name: x for x in schema.arguments}
        for argument, value in (*named, *((by_name[key], x) for key, x in given.items())):
            is_write = argument.alias_info is not None and argument.alias_info.is_write
            for x in value if isinstance(value, list | tuple) else (value,):
                if isinstance(x, torch.Tensor):
                    (writes if is_write else reads).append(x)
        if not any(x.is_cuda for x in (*reads, *writes)):  # those are the device's own work
            self._sanitizer.host_accesses(schema.name, reads, writes)
        return result


def only_host(values: Sequence[Any]) -> bool:
    tensors = [x for x in values if isinstance(x, torch.Tensor)]
    devices = [x for x in values if isinstance(x, torch.device)]
    return not any(x.is_cuda for x in tensors) and all(x.type == "cpu" for x in devices)


@contextlib.contextmanager
def races(seed: int | None = None) -> Iterator[Races]:
    """With a `seed` work is done late too, and PyTorch's own sanitizer is off: it is slow."""
    sanitizer = Races(is_alone=seed is None)
    patched = ("tolist", "numpy", "__array__")
    own = {name: getattr(torch.Tensor, name) for name in patched}

    def reading(name: str) -> Any:
        def read(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            sanitizer.host_accesses(name, [tensor], [])
            return own[name](tensor, *args, **kwargs)

        return read

    for name in patched:
        setattr(torch.Tensor, name, reading(name))
    try:
        with contextlib.ExitStack() as stack:
            if seed is None:
                stack.enter_context(watching(sanitizer))
                stack.enter_context(sanitizer.pytorchs)
            else:
                stack.enter_context(delays(seed, sanitizer))
            stack.enter_context(HostOperations(sanitizer))
            yield sanitizer
    finally:
        for name, method in own.items():
            setattr(torch.Tensor, name, method)
