"""GPUs emulated by the processor, on top of the null CUDA runtime.

`torch.cuda` is PyTorch's own: allocator, streams, events, captures, waits, and the errors of all
of these. Only kernels are replaced: an operation on CUDA tensors runs PyTorch's processor kernel on
the same memory, for device memory is host memory. That is done where PyTorch looks up the kernel of
an operation, so it holds in every thread, in backward passes, and below everything that watches
operations (autograd, autocast, `FakeTensorMode`, the CUDA Sanitizer).

A capture records operations and leaves all memory as it was. A replay runs them again on the same
memory, with the numbers that Python had at the capture.

All is done at once and in the order in which the host asks for it, unless a `Watcher` does it.
"""

from __future__ import annotations

import contextlib
import ctypes
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch

from .null_runtime.build import null_libraries

runtime = ctypes.CDLL(str(null_libraries()[0]))  # the one that PyTorch is linked to
CPU = torch.device("cpu")
# PyTorch's own do what is right without any kernel: they hand out or describe memory.
AS_THEY_ARE = frozenset(
    {"aten::_unsafe_view", "aten::detach", "aten::lift_fresh"}
    | {
        f"aten::{name}"
        for name in ("resize_", "set_", "_to_copy", "_local_scalar_dense", "_pin_memory")
    }
    | {"aten::is_pinned", "aten::_resize_output_", "aten::_has_same_storage_numel"}
)
POISON = "memory given out anew"  # not work of a real device
FRESH = ("aten::empty.memory_format", "aten::empty_strided")
# These ask the device how large their result is, so the host waits for it.
WAITING = frozenset(
    f"aten::{name}"
    for name in (
        "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive",
        "bincount", "equal",
    )
)  # fmt: skip
BY_MASK = frozenset(
    {"aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_"}
)


@dataclass
class Operation:
    """Work of the device, and a node of a graph where it was captured: `prepare()` is called when
    the work is launched, and gives what does it.
    """

    name: str
    prepare: Callable[[], Callable[[], None]]
    reads: Sequence[torch.Tensor]  # of the processor, in the device's memory or pinned
    writes: Sequence[torch.Tensor]


class Watcher(Protocol):
    """Is called with all work of the devices, except what is captured: races.py and delays.py."""

    is_late: bool  # whether it does the work itself, later; otherwise the work is done at once

    def launched(self, operation: Operation, work: Callable[[], None], stream: int) -> None: ...

    def allocated(self, memory: torch.Tensor) -> None:
        """The allocator has given out memory."""

    def recorded(self, memory: torch.Tensor, stream: int) -> None:
        """`record_stream` was called."""

    def finish(self) -> None:
        """Do all work that is left."""


_tapes: weakref.WeakKeyDictionary[Any, list[Operation]] = weakref.WeakKeyDictionary()
_tape: list[Operation] | None = None  # of the capture under way
_capturing: Any = None  # its graph
# Bytes of storages, by place and size, and what they were.
_before: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
_libraries: list[Any] = []  # as long as they live, so do the kernels
_registered: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()
_watcher: Watcher | None = None


@contextlib.contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    global _watcher
    _watcher = watcher
    try:
        yield
    finally:
        _watcher = None


def operations_of(graph: Any) -> Sequence[Operation]:
    """The operations that a graph captured, in order; each is one or more nodes of a real graph."""
    return [x for x in _tapes.get(graph, ()) if x.name != POISON]


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as a tensor of the processor."""
    storage = tensor.untyped_storage()
    same = torch._C._construct_storage_from_data_pointer(storage.data_ptr(), CPU, storage.nbytes())
    return torch.empty(0, dtype=tensor.dtype).set_(
        same, tensor.storage_offset(), tensor.size(), tensor.stride()
    )


def memory_at(address: int, num_bytes: int) -> torch.Tensor:
    """Memory of any sort as bytes."""
    return _bytes(torch._C._construct_storage_from_data_pointer(address, CPU, num_bytes))


def block_of(tensor: torch.Tensor) -> tuple[int, int, int] | None:
    """The runtime's allocation that a tensor lies in: type (1 is pinned, 2 a device's), address and
    bytes.
    """
    start, size = ctypes.c_void_p(), ctypes.c_size_t()
    place = ctypes.c_void_p(tensor.data_ptr())
    kind = runtime.null_gpu_block_of(place, ctypes.byref(start), ctypes.byref(size))
    return (kind, start.value or 0, size.value) if kind else None


def is_captured() -> bool:
    """Whether what is done now, on this thread's stream, becomes part of a graph."""
    return _tape is not None and torch.cuda.is_current_stream_capturing()


def host_waits() -> None:
    """Wait for the current stream, as PyTorch does: an error during a capture, and wherever
    `torch.cuda.set_sync_debug_mode("error")` asks for one.
    """
    torch.cuda.current_stream().synchronize()


def install() -> None:
    """Replace all kernels of CUDA tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that kernels are overridden is meant
        library = torch.library.Library("aten", "IMPL")
        _libraries.append(library)
        for name in _replaceable():
            operation = _overload(name)
            library.impl(name, _emulated(operation), "CUDA")
        for name in FRESH:
            library.impl(name, _poisoned(name), "CUDA", with_keyset=True)
        library.impl("aten::copy_", _copying(), "CUDA", with_keyset=True)
        library.impl("aten::record_stream", _recording(), "CUDA", with_keyset=True)
        library.impl("aten::_fused_sdp_choice", lambda *_, **__: 0, "CUDA")
    _patch_graphs()
    _patch_process_groups()


def _overload(name: str) -> Any:
    base, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _replaceable() -> Iterator[str]:
    """Operations that have a kernel for either device, of which the GPU's has to be replaced."""
    has, has_any = (
        torch._C._dispatch_has_kernel_for_dispatch_key,
        torch._C._dispatch_has_computed_kernel_for_dispatch_key,
    )
    special = {*FRESH, "aten::copy_", "aten::_fused_sdp_choice"}
    for name in torch._C._dispatch_get_all_op_names():
        if not name.startswith("aten::") or name in special or name.split(".")[0] in AS_THEY_ARE:
            continue
        if has(name, "CompositeImplicitAutograd") or not (
            has_any(name, "CUDA") and has_any(name, "CPU")
        ):
            continue
        try:
            operation = _overload(name)
        except AttributeError:  # not for Python
            continue
        if not operation.is_view:
            yield name


def _emulated(operation: Any) -> Callable[..., Any]:
    """A kernel for CUDA tensors that runs the processor's."""
    schema = operation._schema
    name, base = operation.name(), schema.name
    is_random = torch.Tag.nondeterministic_seeded in operation.tags
    may_wait = base in WAITING
    by_mask = base in BY_MASK
    is_written = {x.name: bool(x.alias_info and x.alias_info.is_write) for x in schema.arguments}
    in_place = _names_of_results(schema)

    def kernel(*arguments: Any, **options: Any) -> Any:
        waits = may_wait or (by_mask and _has_mask(arguments[1]))
        if waits:
            host_waits()
        captured, watcher = is_captured(), _watcher
        late = watcher is not None and watcher.is_late and not (captured or waits)
        call = _Call(arguments, options, captured or late)
        if captured:
            for tensor in call.host_tensors:
                _remember(tensor)
        if late:
            if in_place is not None:
                given = {**dict(zip(is_written, arguments, strict=False)), **options}
                results = [given[x] for x in in_place]
                call.places = ()
                returned = results[0] if len(results) == 1 else tuple(results) or None
            elif late := (result := call.shapes_of(operation)) is not UNKNOWN_SHAPES:
                returned = call.to_device(result, stored=False)
            else:  # the device is that fast
                watcher.finish()
        generator = _generator_of(call) if is_random else None
        if not late:
            compute = operation if generator is None else _drawing(operation, generator, captured)
            returned = call.to_device(compute(*call.arguments, **call.options))
        if not (captured or watcher):
            return returned
        places, host_arguments, host_options = call.places, call.arguments, call.options

        def prepare() -> Callable[[], None]:
            again = operation if generator is None else _drawing(operation, generator)
            return lambda: _store(places, again(*host_arguments, **host_options))

        named = {**dict(zip(is_written, host_arguments, strict=False)), **host_options}
        reads, writes = ([], [*_tensors(places)])  # type: ignore[var-annotated]
        for key, value in named.items():
            (writes if is_written[key] else reads).extend(_tensors(value))
        done = Operation(name, prepare, reads, writes)
        if captured:
            _record(done)
        else:
            watcher.launched(done, prepare() if late else _nothing, _current_stream())
        return returned

    return kernel


def _names_of_results(schema: Any) -> list[str] | None:
    """The arguments that an operation returns, where it does nothing but write to these."""
    if not all(x.alias_info and x.alias_info.is_write for x in schema.returns):
        return None
    by_alias = {
        name: x.name
        for x in schema.arguments
        if x.alias_info and x.alias_info.is_write
        for name in x.alias_info.before_set
    }
    return [by_alias[name] for x in schema.returns for name in x.alias_info.before_set]


def _nothing() -> None:
    """The work of an operation that was done at once."""


def _current_stream() -> int:
    return int(torch.cuda.current_stream().cuda_stream)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for x in value:
            yield from _tensors(x)


UNKNOWN_SHAPES = object()
_shapes: dict[Any, Any] = {}  # by operation and what it is given


def _signature(value: Any) -> Any:
    """The properties of arguments that determine the shapes of results."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.stride(), value.dtype
    if isinstance(value, list | tuple):
        return type(value), tuple([_signature(x) for x in value])
    return type(value), value


class _Call:
    """The arguments of one operation, for the processor, and where its results belong."""

    def __init__(self, arguments: Any, options: Any, is_kept: bool) -> None:
        """If the call `is_kept` for later, tensors of the processor are copied: kernels receive
        numbers of the host, not their addresses, except in pinned memory.
        """
        self._is_kept = is_kept
        self.device: torch.device | None = None
        self.generator: Any = None
        self.host_tensors: list[torch.Tensor] = []
        self._given: list[torch.Tensor] = []
        self._on_device: dict[int, torch.Tensor] = {}  # by the identity of the processor's
        self.arguments = tuple([self._host(x) for x in arguments])
        self.options = {key: self._host(x) for key, x in options.items()}
        self.places: Any = None

    def _host(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            self._given.append(value)
            if not value.is_cuda:
                self.host_tensors.append(value)
                return value.clone() if self._is_kept and not block_of(value) else value
            if self.device is None:
                self.device = value.device
            host = on_host(value)
            self.host_tensors.append(host)
            self._on_device[id(host)] = value
            return host
        if isinstance(value, list | tuple):
            return type(value)([self._host(x) for x in value])
        if isinstance(value, torch.device) and value.type == "cuda":
            self.device = value
            return CPU
        if isinstance(value, torch.Generator) and value.device.type == "cuda":
            self.generator = value
            return None
        return value

    def shapes_of(self, operation: Any) -> Any:
        """Results as tensors without memory, where PyTorch knows their shapes beforehand."""
        key = operation, _signature(self.arguments), _signature(tuple(self.options.items()))
        if key in _shapes:
            return _shapes[key]
        self._without: dict[int, torch.Tensor] = {}
        try:
            options = {key: self._shape(x) for key, x in self.options.items()}
            result = operation(*[self._shape(x) for x in self.arguments], **options)
        except (NotImplementedError, RuntimeError):
            return UNKNOWN_SHAPES
        if not any(id(x) in self._on_device for x in _tensors(result)):
            _shapes[key] = result
        return result

    def _shape(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._without:
                size, stride = value.size(), value.stride()
                made = torch.empty_strided(size, stride, dtype=value.dtype, device="meta")
                self._without[id(value)] = made
                if id(value) in self._on_device:
                    self._on_device[id(made)] = self._on_device[id(value)]
            return self._without[id(value)]
        if isinstance(value, list | tuple):
            return type(value)([self._shape(x) for x in value])
        return torch.device("meta") if value is CPU else value

    def to_device(self, result: Any, stored: bool = True) -> Any:
        """The result on the device, for the caller; `places` are then the memory of new results,
        which is written now if they are `stored`.
        """
        if isinstance(result, torch.Tensor):
            returned, self.places = self._placed(result, stored)
            return returned
        if isinstance(result, list | tuple):
            both = [self._placed(x, stored) for x in result]
            self.places = [place for _, place in both]
            return type(result)([returned for returned, _ in both])
        self.places = ()
        return result

    def _placed(self, result: Any, stored: bool) -> tuple[Any, Any]:
        if not isinstance(result, torch.Tensor):
            return result, None
        given = self._on_device.get(id(result))
        if given is not None or any(result is x for x in self._given):
            return (result if given is None else given), None  # written in place
        device = self.device or torch.device("cuda", torch.cuda.current_device())
        made = torch.empty_strided(
            result.size(), result.stride(), dtype=result.dtype, device=device
        )
        place = on_host(made)
        if stored and result.numel():
            if is_captured():
                _remember(place)
            place.copy_(result)
        return made, place


def _store(places: Any, result: Any) -> None:
    if isinstance(result, torch.Tensor):
        if isinstance(places, torch.Tensor):
            places.copy_(result)
        return
    if places and isinstance(result, list | tuple):
        for place, x in zip(places, result, strict=True):
            if place is not None:
                place.copy_(x)


def _has_mask(indices: Iterable[Any]) -> bool:
    return any(x is not None and x.dtype in (torch.bool, torch.uint8) for x in indices)


def _poisoned(name: str) -> Callable[..., Any]:
    """New memory of NaN and -1: what is read before it is written is seen in the result."""
    fresh = torch.library.get_kernel(name, "CUDA")

    def kernel(keys: Any, *arguments: Any, **options: Any) -> Any:
        made = fresh.call_boxed(keys, *arguments, **options)
        if made.numel():
            memory = _bytes(on_host(made).untyped_storage())
            captured, work = is_captured(), partial(memory.fill_, 0xFF)
            if _watcher and not captured:
                _watcher.allocated(memory)
            _do(Operation(POISON, lambda: work, (), (memory,)), work, captured)
        return made

    return kernel


def _copying() -> Callable[..., Any]:
    """Copies. Those between host and device are PyTorch's own, which wait as those do."""
    original = torch.library.get_kernel("aten::copy_", "CUDA")

    def copy(keys: Any, to: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> Any:
        captured = is_captured()
        if to.is_cuda != source.is_cuda:
            host = source if to.is_cuda else to
            # PyTorch's own refuses pageable memory in a capture.
            if not captured or not block_of(host):
                return original.call_boxed(keys, to, source, non_blocking)
            if not non_blocking:
                host_waits()
        host_to, host_source = (on_host(x) if x.is_cuda else x for x in (to, source))
        if to.numel():
            work = partial(host_to.copy_, host_source)
            _do(Operation("aten::copy_", lambda: work, (host_source,), (host_to,)), work, captured)
        return to

    return copy


def _recording() -> Callable[..., Any]:
    original = torch.library.get_kernel("aten::record_stream", "CUDA")

    def record_stream(keys: Any, tensor: torch.Tensor, stream: torch.Stream) -> None:
        original.call_boxed(keys, tensor, stream)
        if _watcher and tensor.numel():
            memory = _bytes(on_host(tensor).untyped_storage())
            same = torch.cuda.Stream(
                stream_id=stream.stream_id, device_index=stream.device_index,
                device_type=stream.device_type,
            )  # fmt: skip
            _watcher.recorded(memory, int(same.cuda_stream))

    return record_stream


def run_kernel(name: str, work: Callable[[], None], tensors: Iterable[torch.Tensor]) -> None:
    """Do the `work` of a kernel that is not PyTorch's, which touches `tensors` of the processor, in
    the device's memory or pinned.
    """
    touched = list(tensors)
    _do(Operation(name, lambda: work, (), touched), work, is_captured())


def _do(operation: Operation, work: Callable[[], Any], captured: bool) -> None:
    """Do the `work` of an operation, and record it where that is `captured`."""
    if captured:
        for x in operation.writes:
            _remember(x)
        _record(operation)
        work()
    else:
        _launch(operation, work)


def _launch(operation: Operation, work: Callable[[], Any]) -> None:
    """Do what an operation outside of captures does, on the current stream."""
    if _watcher:
        _watcher.launched(operation, work, _current_stream())
    if not (_watcher and _watcher.is_late):
        work()


# Random numbers: a function of the generator's seed and offset, both PyTorch's own, so that states
# are saved, loaded and counted as on a GPU. The numbers are not a GPU's.
def _generator_of(call: _Call) -> Any:
    device = call.device or torch.device("cuda", torch.cuda.current_device())
    index = torch.cuda.current_device() if device.index is None else device.index
    default = torch.cuda.default_generators[index]
    generator = default if call.generator is None else call.generator
    if is_captured() and generator not in (default, *_registered.get(_capturing, ())):
        raise RuntimeError(
            "Attempt to increase offset for a CUDA generator not in capture mode: "
            "it was not registered with the graph"
        )
    return generator


def _drawing(operation: Any, generator: Any, captured: bool = False) -> Callable[..., Any]:
    """An operation with the generator's next numbers, which are taken now."""
    seed, offset = 0, 0
    if not captured:
        seed, offset = generator.initial_seed(), generator.get_offset()
        generator.set_offset(offset + 4)

    def draw(*arguments: Any, **options: Any) -> Any:
        before = torch.default_generator.get_state()
        torch.default_generator.manual_seed((seed * 6364136223846793005 + offset) % 2**63)
        try:
            return operation(*arguments, **options)
        finally:
            torch.default_generator.set_state(before)

    return draw


# Captures.


def _bytes(storage: Any) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))


def _remember(host: torch.Tensor) -> None:
    storage = host.untyped_storage()
    place = storage.data_ptr(), storage.nbytes()
    if storage.nbytes() and place not in _before:
        now = _bytes(storage)
        _before[place] = now, now.clone()


def _record(operation: Operation) -> None:
    assert _tape is not None
    _tape.append(operation)


def _put_back() -> None:
    """Nothing has happened: all memory is as it was. Copies overlap where memory was freed and
    given out again during the capture. The oldest copy is right, and so comes last.
    """
    for now, before in reversed(_before.values()):
        now.copy_(before)
    _before.clear()


@contextlib.contextmanager
def without_autograd() -> Iterator[None]:
    """Nor below anything else that watches operations."""
    with torch._C._AutoDispatchBelowAutograd(), torch._C._DisableTorchDispatch():
        yield


def _patch_graphs() -> None:
    graphs = torch.cuda.CUDAGraph
    begin, end, replay = graphs.capture_begin, graphs.capture_end_pre, graphs.replay
    register = graphs.register_generator_state

    def capture_begin(self: Any, *arguments: Any, **options: Any) -> None:
        global _tape, _capturing
        if _watcher:
            _watcher.finish()
        begin(self, *arguments, **options)
        _capturing, _tape = self, []
        _tapes[self] = _tape

    def register_generator_state(self: Any, generator: Any) -> None:
        register(self, generator)
        _registered.setdefault(self, []).append(generator)

    def capture_end_pre(self: Any) -> None:
        global _tape, _capturing
        _tape = _capturing = None
        with without_autograd():
            _put_back()
        end(self)

    def replay_all(self: Any) -> None:
        replay(self)
        with without_autograd():
            for operation in _tapes.get(self, ()):
                _launch(operation, operation.prepare())

    graphs.register_generator_state = register_generator_state
    graphs.capture_begin, graphs.capture_end_pre = capture_begin, capture_end_pre
    graphs.replay = replay_all


def _patch_process_groups() -> None:
    """Gloo in place of NCCL, which would launch kernels of its own."""
    from torch import distributed

    initialise = distributed.init_process_group

    def init_process_group(backend: str | None = None, *arguments: Any, **options: Any) -> None:
        initialise((backend or "gloo").replace("nccl", "gloo"), *arguments, **options)

    distributed.init_process_group = init_process_group


install()
