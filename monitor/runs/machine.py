"""What the machine does for one run, sampled by whoever watches, never by the trainer.

It needs nothing else of the monitor: `MachineSampler().sample(pid)` on the run's own host, and
`as_json` and `from_json` to send what it gave somewhere else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import psutil


@dataclass(frozen=True)
class GpuSample:
    """One GPU; None stands for what it does not tell."""

    name: str
    utilization_fraction: float | None = None
    memory_bytes: int | None = None
    total_memory_bytes: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None


@dataclass(frozen=True)
class MachineSample:
    """The processes of one trainer, and the GPUs it uses. `cpu_cores` is how many cores they kept
    busy since the sample before; None in the first.
    """

    num_processes: int
    num_threads: int
    memory_bytes: int
    total_memory_bytes: int
    num_cores: int
    cpu_cores: float | None = None
    gpus: tuple[GpuSample, ...] = field(default=())

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> MachineSample:
        """What `as_json` gave. Raises TypeError or KeyError where it is something else."""
        gpus = tuple(GpuSample(**gpu) for gpu in value["gpus"])
        return cls(**{**value, "gpus": gpus})


class MachineSampler:
    """Samples a trainer's process tree with psutil, and its GPUs with NVML where there is one."""

    def __init__(self) -> None:
        self._processes: dict[tuple[int, float], psutil.Process] = {}
        self._gpus = _Gpus()

    def sample(self, pid: int) -> MachineSample | None:
        """None where the process is gone, or another user's."""
        try:
            root = psutil.Process(pid)
            found = [root, *root.children(recursive=True)]
        except psutil.Error:
            return None
        known = self._processes
        # A process object remembers the CPU time it was last asked for.
        self._processes = {(p.pid, p.create_time()): p for p in found}
        processes = [known.get(key, process) for key, process in self._processes.items()]
        self._processes = dict(zip(self._processes, processes, strict=True))
        is_first = not any(key in known for key in self._processes)
        cpu_percent, memory_bytes, num_threads, num_processes = 0.0, 0, 0, 0
        for process in processes:
            with contextlib.suppress(psutil.Error), process.oneshot():
                cpu_percent += process.cpu_percent()
                memory_bytes += process.memory_info().rss
                num_threads += process.num_threads()
                num_processes += 1
        if not num_processes:
            return None
        return MachineSample(
            num_processes=num_processes,
            num_threads=num_threads,
            memory_bytes=memory_bytes,
            total_memory_bytes=psutil.virtual_memory().total,
            num_cores=psutil.cpu_count() or 1,
            cpu_cores=None if is_first else cpu_percent / 100,
            gpus=self._gpus.sample([process.pid for process in processes]),
        )


class _Gpus:
    """NVML, from its first use on; nothing where it is missing or refuses."""

    def __init__(self) -> None:
        self._is_ready: bool | None = None

    def sample(self, pids: list[int]) -> tuple[GpuSample, ...]:
        """The GPUs that these processes use."""
        if self._is_ready is None:
            self._is_ready = _start_nvml()
        if not self._is_ready:
            return ()
        import pynvml

        try:
            handles = [
                pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())
            ]
            return tuple(_gpu_sample(handle) for handle in _used(handles, pids))
        except pynvml.NVMLError:
            return ()


def _start_nvml() -> bool:
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no driver, no library, or one that does not load
        return False
    return True


def _used(handles: Iterable[Any], pids: list[int]) -> list[Any]:
    """Those that NVML says run these processes. In a container it sees other process numbers: then
    those whose device file the processes have open.
    """
    import pynvml

    handles = list(handles)
    used = []
    for handle in handles:
        with contextlib.suppress(pynvml.NVMLError):
            running = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            if any(process.pid in pids for process in running):
                used.append(handle)
    if used:
        return used
    opened = _open_device_numbers(pids)
    return [h for h in handles if _or_none(pynvml.nvmlDeviceGetMinorNumber, h) in opened]


def _open_device_numbers(pids: list[int]) -> set[int]:
    """The n of every /dev/nvidia<n> that a process has open."""
    numbers = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for entry in os.scandir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    number = os.readlink(entry.path).removeprefix("/dev/nvidia")
                    if number.isdigit():
                        numbers.add(int(number))
    return numbers


def _gpu_sample(handle: Any) -> GpuSample:
    import pynvml

    name = _or_none(pynvml.nvmlDeviceGetName, handle) or "GPU"
    rates = _or_none(pynvml.nvmlDeviceGetUtilizationRates, handle)
    memory = _or_none(pynvml.nvmlDeviceGetMemoryInfo, handle)
    power = _or_none(pynvml.nvmlDeviceGetPowerUsage, handle)
    limit = _or_none(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    heat = _or_none(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU)
    return GpuSample(
        name=name.decode() if isinstance(name, bytes) else name,
        utilization_fraction=rates.gpu / 100 if rates else None,
        memory_bytes=memory.used if memory else None,
        total_memory_bytes=memory.total if memory else None,
        power_w=power / 1000 if power is not None else None,
        power_limit_w=limit / 1000 if limit is not None else None,
        temperature_c=float(heat) if heat is not None else None,
    )


def _or_none(ask: Any, *arguments: Any) -> Any:
    """What NVML answers; None where this GPU does not tell."""
    import pynvml

    try:
        return ask(*arguments)
    except pynvml.NVMLError:
        return None
