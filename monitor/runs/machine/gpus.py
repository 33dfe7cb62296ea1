"""The GPUs that a run uses, read through NVML."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import psutil

from .machine import GpuProcess, GpuSample

MAX_OTHERS = 64  # processes of others that are named
NOT_AVAILABLE = (1 << 64) - 1
# What holds the clocks down, by its bit. That nothing runs (1) is no reason to say so.
_REASONS = {
    0x2: "clocks set",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "too hot",
    0x40: "too hot (hardware)",
    0x80: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}
# These mean that something is wrong: a GPU at its power cap does what it can.
ALARMING = frozenset({"hardware slowdown", "too hot", "too hot (hardware)", "power brake"})


class _Unit(NamedTuple):
    """A GPU, or a part of one: what is asked for its memory and processes, and the whole."""

    number: int
    own: Any
    whole: Any

    @property
    def is_part(self) -> bool:
        return self.own is not self.whole


class Gpus:
    """NVML, from its first use on; nothing where it is missing or refuses."""

    def __init__(self) -> None:
        self._is_ready: bool | None = None
        self._names = _ProcessNames()

    def sample(self, pids: Collection[int]) -> tuple[GpuSample, ...]:
        """The GPUs that these processes use."""
        running = self._running()
        if not running:
            return ()
        used = [(unit, found) for unit, found in running if set(pids) & found.keys()]
        if used:
            return tuple(
                self._sample(unit, {pid: m for pid, m in found.items() if pid not in pids})
                for unit, found in used
            )
        # In a container NVML sees other process numbers: then it is the GPUs whose device file the
        # processes have open, and other users of it are unknown.
        opened = _open_device_numbers(pids)
        return tuple(
            self._sample(unit, None)
            for unit, _ in running
            if _ask("nvmlDeviceGetMinorNumber", unit.whole) in opened
        )

    def _running(self) -> list[tuple[_Unit, dict[int, int | None]]]:
        """All GPUs and the processes on them; empty if NVML is missing or refuses."""
        if self._is_ready is None:
            self._is_ready = _start_nvml()
        if not self._is_ready:
            return []
        import pynvml

        try:
            return [(unit, _running(unit.own)) for unit in _units()]
        except pynvml.NVMLError:
            return []

    def _sample(self, unit: _Unit, others: dict[int, int | None] | None) -> GpuSample:
        import pynvml

        name = _ask("nvmlDeviceGetName", unit.own) or _ask("nvmlDeviceGetName", unit.whole)
        rates = None if unit.is_part else _ask("nvmlDeviceGetUtilizationRates", unit.own)
        memory = _ask("nvmlDeviceGetMemoryInfo", unit.own)
        whole = unit.whole
        heat = pynvml.NVML_TEMPERATURE_GPU
        named = None if others is None else self._named(others)
        return GpuSample(
            name=name.decode(errors="replace") if isinstance(name, bytes) else name or "GPU",
            utilization_fraction=rates.gpu / 100 if rates else None,
            memory_bytes=memory.used if memory else None,
            total_memory_bytes=memory.total if memory else None,
            power_w=_scaled(_ask("nvmlDeviceGetPowerUsage", whole), 1e-3),
            power_limit_w=_scaled(_ask("nvmlDeviceGetEnforcedPowerLimit", whole), 1e-3),
            temperature_c=_scaled(_ask("nvmlDeviceGetTemperature", whole, heat)),
            index=unit.number,
            slowdown_c=_scaled(_ask("nvmlDeviceGetTemperatureThreshold", whole, _SLOWDOWN)),
            clock_mhz=_scaled(_ask("nvmlDeviceGetClockInfo", whole, _CLOCK_SM)),
            max_clock_mhz=_scaled(_ask("nvmlDeviceGetMaxClockInfo", whole, _CLOCK_SM)),
            memory_clock_mhz=_scaled(_ask("nvmlDeviceGetClockInfo", whole, _CLOCK_MEMORY)),
            throttled=_throttled(whole),
            others=named,
        )

    def _named(self, others: dict[int, int | None]) -> tuple[GpuProcess, ...]:
        """The processes that hold the most memory first."""
        largest = sorted(others, key=lambda pid: (-(others[pid] or 0), pid))[:MAX_OTHERS]
        return tuple(GpuProcess(pid, *self._names.of(pid), others[pid]) for pid in largest)


_CLOCK_SM, _CLOCK_MEMORY, _SLOWDOWN = 1, 2, 1  # as NVML numbers them


class _ProcessNames:
    """The users and names of processes, asked once per process."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, str, str]] = {}

    def of(self, pid: int) -> tuple[str, str]:
        """(user, name); empty if the system does not say."""
        user = name = ""
        with contextlib.suppress(psutil.Error, KeyError, ValueError):
            process = psutil.Process(pid)
            created_s = process.create_time()
            known = self._known.get(pid)
            if known and known[0] == created_s:
                return known[1:]
            name = str(process.name())
            user = str(process.username())
            if len(self._known) > 4 * MAX_OTHERS:
                self._known.clear()
            self._known[pid] = created_s, user, name
        if not name:
            said = _ask("nvmlSystemGetProcessName", pid) or ""
            said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
            name = said.rpartition("/")[2]
        return user, name


def _start_nvml() -> bool:
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # no driver, no library, or one that does not load
        return False
    return True


def _units() -> Iterator[_Unit]:
    """All GPUs; those that MIG divides as their parts. Raises NVMLError."""
    import pynvml

    for number in range(pynvml.nvmlDeviceGetCount()):
        whole = pynvml.nvmlDeviceGetHandleByIndex(number)
        parts = _parts(whole)
        yield from (_Unit(number, part, whole) for part in parts or [whole])


def _parts(whole: Any) -> list[Any]:
    """The parts that MIG makes of a GPU; none where it does not."""
    mode = _ask("nvmlDeviceGetMigMode", whole)
    if not mode or not mode[0]:
        return []
    count = _ask("nvmlDeviceGetMaxMigDeviceCount", whole) or 0
    parts = (_ask("nvmlDeviceGetMigDeviceHandleByIndex", whole, i) for i in range(count))
    return [part for part in parts if part is not None]


def _running(handle: Any) -> dict[int, int | None]:
    """The processes on a GPU and how much memory each holds, if known."""
    found: dict[int, int | None] = {}
    kinds = ("Compute", "Graphics")
    for processes in (_ask(f"nvmlDeviceGet{kind}RunningProcesses", handle) for kind in kinds):
        for process in processes or ():
            held = getattr(process, "usedGpuMemory", None)
            held = None if held is None or held == NOT_AVAILABLE else int(held)
            # One that computes and draws is in both lists, with all of its memory.
            found[process.pid] = max(filter(None, (held, found.get(process.pid))), default=None)
    return found


def _throttled(handle: Any) -> tuple[str, ...]:
    bits = _ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
    if bits is None:  # as it is called in older drivers
        bits = _ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle) or 0
    return tuple(word for bit, word in _REASONS.items() if bits & bit)


def _open_device_numbers(pids: Collection[int]) -> set[int]:
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


def _ask(name: str, *arguments: Any) -> Any:
    """The answer of NVML; None if this GPU, driver or pynvml does not support the question."""
    import pynvml

    try:
        return getattr(pynvml, name)(*arguments)
    except (pynvml.NVMLError, AttributeError):
        return None


def _scaled(number: float | None, factor: float = 1.0) -> float | None:
    return None if number is None else number * factor
