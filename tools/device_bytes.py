"""Counts the memory of an iteration on a GPU, without any arithmetic.

    make device-table

`watched` builds a run and has it iterate on fake tensors, which have a device, a shape and a type,
and no numbers. Every operation is seen, so sizes of a real run cost nothing. An error is raised for
what must not be in a captured iteration: a host read, a copy that waits, tensors of both devices in
one operation. This needs PyTorch with CUDA, and the null runtime in place of a GPU.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import tomllib
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import gpu_runs
import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config, preset_names
from operant.trainer.config.from_values import make_config
from operant.trainer.config.overlays import hardware_names, overlay_names
from operant.trainer.config.toml_file import PRESET_FOLDER
from operant.trainer.config.train_config import TrainConfig, algorithm_sections
from operant.trainer.envs.hosts import host_of
from operant.trainer.jit.kernel import Kernel

REPOSITORY = Path(__file__).resolve().parents[1]
DOCUMENT = REPOSITORY / "docs" / "gpu.md"
BEGIN, END = "<!-- device bytes begin -->", "<!-- device bytes end -->"
BLOCK = 512  # bytes that PyTorch's allocator gives out at least, and multiples of it
aten: Any = torch.ops.aten
COPIES = (aten.copy_.default, aten._to_copy.default)
PRODUCTS = (aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default)
# PyTorch has no fake form of these. They allocate nothing.
WITHOUT_RESULT = (
    aten._fused_adam_.default, aten._fused_adam_.tensor_lr, aten.record_stream.default,
)  # fmt: skip


class LintError(AssertionError):
    """An iteration does what a captured one must not do."""


@dataclass
class Seen:
    """Bytes on the device, and what else was seen of two iterations."""

    kept: int = 0  # between iterations
    peaks: dict[str, int] = field(default_factory=dict)  # beyond what was there, of the last phases
    pinned: int = 0  # in main memory, as PyTorch gives it out: in powers of two
    launches: Counter[str] = field(default_factory=Counter)
    float64: Counter[str] = field(default_factory=Counter)  # arrays, by the function that makes it
    products: set[torch.dtype] = field(default_factory=set)

    @property
    def in_all(self) -> int:
        """The bytes allocated once graphs are captured: a graph keeps its working memory."""
        return self.kept + sum(self.peaks.values())


class Watch(TorchDispatchMode):
    """Sees every operation."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()
        self.is_strict = False
        self.num_bytes = self._peak = 0
        self._storages: dict[int, weakref.ref[Any]] = {}
        self._pinned: weakref.WeakSet[Any] = weakref.WeakSet()
        self._on_host: weakref.WeakSet[Any] = weakref.WeakSet()  # from before the iteration

    def __torch_dispatch__(
        self, operation: Any, types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        options = options or {}
        tensors = [x for x in tree_leaves((arguments, options)) if isinstance(x, Tensor)]
        if self.is_strict:
            self._check(operation, arguments, options, tensors)
        if operation is aten._local_scalar_dense.default and not arguments[0].is_cuda:
            return 0  # of staged metrics, which have arrived
        if operation in WITHOUT_RESULT:
            return None
        result = operation(*arguments, **options)
        for x in tree_leaves(result):
            if isinstance(x, Tensor):
                self._count(x, is_pinned=bool(options.get("pin_memory")))
        return result

    def _check(self, operation: Any, arguments: Any, options: Any, tensors: list[Tensor]) -> None:
        on_gpu = [x for x in tensors if x.is_cuda]
        if operation is aten._local_scalar_dense.default and on_gpu:
            raise LintError(f"the host reads a number of the GPU in {place()}")
        if operation in COPIES:
            self._check_copy(operation, arguments, options)
        elif on_gpu:
            for x in tensors:
                # Scalars that Python has just made are constants, which a graph may keep.
                if not x.is_cuda and (x.dim() or x.untyped_storage() in self._on_host):
                    raise LintError(f"{operation} mixes devices in {place()}")
        if operation in PRODUCTS:
            self.seen.products |= {x.dtype for x in tensors}

    def _check_copy(self, operation: Any, arguments: Any, options: Any) -> None:
        if operation is aten.copy_.default:
            to, source, *rest = arguments
            at_once = bool(rest[0] if rest else options.get("non_blocking"))
            devices = {to.is_cuda, source.is_cuda}
            host = source if to.is_cuda else to
        else:
            (source,) = arguments
            at_once, host = bool(options.get("non_blocking")), source
            wanted = options.get("device") or source.device
            devices = {source.is_cuda, torch.device(wanted).type == "cuda"}
        if len(devices) == 2 and not (at_once and self.is_pinned(host)):
            raise LintError(f"{operation} between host and GPU waits in {place()}")

    def is_pinned(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage() in self._pinned

    def _count(self, x: Tensor, is_pinned: bool) -> None:
        storage = x.untyped_storage()
        if is_pinned and storage not in self._pinned:
            self._pinned.add(storage)
            self.seen.pinned += 2 ** (max(storage.nbytes(), 1) - 1).bit_length()
        if not x.is_cuda:
            if not self.is_strict:
                self._on_host.add(storage)
            return
        if x.dtype == torch.float64 and x.numel() > 1 and self.is_strict:
            self.seen.float64[place()] = max(self.seen.float64[place()], x.numel())
        key = id(storage)
        known = self._storages.get(key)
        if known is not None and known() is storage:
            return
        size = -(-storage.nbytes() // BLOCK) * BLOCK
        self._storages[key] = weakref.ref(storage, functools.partial(self._freed, size))
        self.num_bytes += size
        self._peak = max(self._peak, self.num_bytes)

    def _freed(self, size: int, _: Any) -> None:
        self.num_bytes -= size

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Around collecting and around learning."""
        gc.collect()  # what waits for it would be counted, or not, by chance
        before = self._peak = self.num_bytes
        yield
        self.seen.peaks[name] = self._peak - before

    def launch(self, kernel: Kernel, size: int, *arguments: Any) -> None:
        """In place of a launch: all its tensors are where a thread can reach them."""
        for x in tree_leaves(arguments):
            if isinstance(x, Tensor) and not (x.is_cuda or self.is_pinned(x)):
                raise LintError(f"{kernel._label} is launched with a tensor of the processor")
        self.seen.launches[kernel._label] += 1


def place() -> str:
    """The function of operant that does it, and its file."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        path = Path(os.path.realpath(frame.f_code.co_filename))
        if path.is_relative_to(REPOSITORY / "trainer"):
            module = path.relative_to(REPOSITORY / "trainer").with_suffix("")
            return f"{module.as_posix()}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "a backward pass"


def moved(module: nn.Module, move: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    """`Module.to`, which does not know fake tensors whose views are kept as well."""
    for child in module.children():
        moved(child, move)
    for parameter in module._parameters.values():
        if parameter is not None:
            with torch.no_grad():
                to: Any = move(parameter)
            parameter.data = to
            parameter.fake_device = to.device  # type: ignore[attr-defined]
    for name, x in module._buffers.items():
        if x is not None:
            module._buffers[name] = move(x)
    return module


def copied(tensor: Any, memo: dict[int, Any]) -> Tensor:
    """`copy.deepcopy` of a fake tensor, for which PyTorch's own looks at an address."""
    if id(tensor) not in memo:
        copy = tensor.detach().clone()
        is_parameter = isinstance(tensor, nn.Parameter)
        memo[id(tensor)] = nn.Parameter(copy, tensor.requires_grad) if is_parameter else copy
    copy_: Tensor = memo[id(tensor)]
    return copy_


def host_array(tensor: Tensor) -> Any:
    """An array that a part under construction reads on the processor: its numbers do not matter."""
    return np.zeros(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))


def watched(config: TrainConfig) -> Seen:
    """Build the run of a configuration and let it iterate. Raises LintError."""
    watch = Watch()

    @contextlib.contextmanager
    def span(name: str) -> Iterator[None]:
        with watch.phase(name):
            yield

    with (
        mock.patch.dict(os.environ, {"NULL_GPU_BYTES": str(2**50)}),
        mock.patch.object(Kernel, "launch", lambda *arguments: watch.launch(*arguments)),
        mock.patch.object(nn.Module, "_apply", moved),
        mock.patch.object(FakeTensor, "__deepcopy__", copied, create=True),
        mock.patch.object(FakeTensor, "numpy", host_array, create=True),
        FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=True),
        watch,
    ):
        run = gpu_runs.make_run(config, "cuda", capture=False)
        run.executor.span = span
        watch.is_strict = True
        gpu_runs.iterate(run, num_iterations(config))
        gc.collect()
        watch.seen.kept = watch.num_bytes
    return watch.seen


def allocated(config: TrainConfig, capture: bool) -> tuple[int, dict[str, int], list[int]]:
    """The same by PyTorch's allocator, of iterations that are computed: bytes between iterations,
    those beyond of each phase, where it was done for the last time or captured, and those that the
    allocator keeps for graphs, in each pool.
    """
    peaks: dict[str, int] = {}

    @contextlib.contextmanager
    def span(name: str) -> Iterator[None]:
        gc.collect()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield
        peak = torch.cuda.max_memory_allocated() - before
        if peak or not capture:  # a replay allocates nothing
            peaks[name] = peak

    gc.collect()
    torch.cuda.init()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()  # with the pools of graphs that are gone
    before, pools_before = torch.cuda.memory_allocated(), graph_pools()
    run = gpu_runs.make_run(config, "cuda", capture=capture)
    run.executor.span = span
    gpu_runs.iterate(run, num_iterations(config) + capture)
    gc.collect()
    pools = [size for pool, size in graph_pools().items() if pool not in pools_before]
    return torch.cuda.memory_allocated() - before, peaks, pools


def graph_pools() -> dict[Any, int]:
    """The bytes that PyTorch's allocator keeps for captured graphs, by pool."""
    pools: Counter[Any] = Counter()
    for segment in torch.cuda.memory_snapshot():
        pools[tuple(segment["segment_pool_id"])] += segment["total_size"]
    return {pool: size for pool, size in pools.items() if any(pool)}


CONTINUOUS = ("ddpg", "td3", "sac", "tqc", "crossq", "ac_iqn")


def rows() -> Iterator[tuple[str, Callable[[Sequence[str]], TrainConfig]]]:
    """The rows of the table, with functions that make their configurations with more settings:
    presets, with the overlays that change them, and every algorithm at the sizes of a large run.
    """
    for preset in preset_names():
        env = tomllib.loads((PRESET_FOLDER / f"{preset}.toml").read_text())["env"]
        if not host_of(env).is_own:
            continue
        config = load_config(preset)
        if not gpu_runs.can_be_on_a_gpu(config):
            continue
        yield preset, functools.partial(load_config, preset)
        if preset != f"{env}_ppo":  # a variant, which the same overlays are for
            continue
        for overlay in (*hardware_names(), *overlay_names()):
            with contextlib.suppress(ConfigError):  # it has no sizes, or is for many agents
                if load_config(preset, overlays=[overlay]) != config:
                    load = functools.partial(load_config, preset, overlays=[overlay])
                    yield f"{preset}, {overlay}", load
    for algorithm, section in algorithm_sections().items():
        env = "pendulum" if algorithm in CONTINUOUS else "cart_pole"
        values: dict[str, Any] = {"algorithm": algorithm, "env": env, "num_envs": 8192}
        if "replay" in section.tables:
            values["replay"] = {"capacity": 1_000_000}
        name = f"{algorithm}, 8,192 environments"
        yield name, functools.partial(make_config, values)
        # What these move to main memory is pinned there.
        if algorithm == "dqn":
            key = "replay.memory=host"
            yield f"{name}, {key}", functools.partial(_make, values, key)


def _make(values: dict[str, Any], setting: str, more: Sequence[str]) -> TrainConfig:
    return make_config(values, [setting, *more])


def with_few_updates(make: Callable[[Sequence[str]], TrainConfig]) -> TrainConfig:
    """The configuration with 32 updates from a replay in an iteration, which are blocks of 16, or
    with two epochs: those that are left out use the same memory. The first iteration learns.
    """
    config = make([])
    key, section = config.algorithm, config.algorithm_section
    if "replay" not in section.tables:
        return make([f"{key}.num_epochs={min(2, section.num_epochs)}"])
    steps = config.rollout_steps * config.num_rows
    warmup = -(-max(section.batch_size, steps) // steps) * steps
    return make([f"{key}.warmup_env_steps={warmup}", f"{key}.updates_per_env_step={32 / steps}"])


def num_iterations(config: TrainConfig) -> int:
    """The first that learns, and one more."""
    warmup = getattr(config.algorithm_section, "warmup_env_steps", 0)
    return 1 + max(1, -(-warmup // config.rollout_size))


def table() -> str:
    """Bytes of every row, as Markdown."""
    lines = [
        "| run | between iterations | collecting | learning | in all | pinned |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, make in rows():
        lines.append(row(name, watched(with_few_updates(make))))
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def row(name: str, seen: Seen) -> str:
    sizes = (seen.kept, seen.peaks["collect"], seen.peaks["learn"], seen.in_all, seen.pinned)
    return f"| {name} | {' | '.join(f'{size / 1e6:,.2f}' for size in sizes)} |"


def in_document() -> str:
    return DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    lines = table()  # minutes, in which people may write
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}")


if __name__ == "__main__":
    main()
