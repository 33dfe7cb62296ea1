"""Samples the machine for one run: in the process that watches, never in the trainer.

It also measures how full the file system of a folder is, and what its device reads and writes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from .gpus import Gpus
from .machine import DiskSample, MachineSample

_SECTOR_BYTES = 512  # the unit of these files, whatever the device's sectors are
_READ, _WRITTEN = 2, 6  # the words of a device's `stat` that count sectors


class DiskUse:
    """Samples the file system that holds `folder`; rates are averages since the last sample."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._now = folder, now
        self._stat_path = _stat_path(folder)
        self._before: tuple[float, int, int] | None = None

    def sample(self) -> DiskSample | None:
        """A sample; None if the folder cannot be reached."""
        try:
            space = os.statvfs(self._folder)
        except OSError:
            return None
        free, total = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
        moved = self._moved_bytes()
        before, self._before = self._before, None
        if moved is None:
            return DiskSample(free, total, is_run_alone=True)
        now_s = self._now()
        self._before = (now_s, *moved)
        if before is None or now_s <= before[0]:
            return DiskSample(free, total)
        seconds = now_s - before[0]
        return DiskSample(
            free,
            total,
            max(0, moved[0] - before[1]) / seconds,
            max(0, moved[1] - before[2]) / seconds,
        )

    def _moved_bytes(self) -> tuple[int, int] | None:
        """Bytes that the device has read and written so far."""
        if self._stat_path is None:
            return None
        try:
            words = self._stat_path.read_text().split()
            return int(words[_READ]) * _SECTOR_BYTES, int(words[_WRITTEN]) * _SECTOR_BYTES
        except (OSError, ValueError, IndexError):
            return None


def _stat_path(folder: Path) -> Path | None:
    """The kernel's `stat` file for the device of `folder`; None if the file system has no device of
    its own, such as file systems in memory, over the network, or overlays.
    """
    try:
        device = os.stat(folder).st_dev
    except OSError:
        return None
    for number in (device, _mounted_device(device)):
        if number:
            path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
            if path.exists():
                return path
    return None


def _mounted_device(device: int) -> int | None:
    """The block device behind a file system with a device number of its own, such as Btrfs."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            mount, _, source = line.partition(" - ")
            if mount.split()[2] == wanted and source.split()[1].startswith("/dev/"):
                return os.stat(source.split()[1]).st_rdev
    except (OSError, IndexError):
        pass
    return None


_Key = tuple[int, float]  # a process: its number, and when it was created


class MachineSampler:
    """Samples a trainer's process tree and the machine with psutil, its GPUs with NVML where there
    is one, and the file system of `folder`.
    """

    def __init__(
        self, folder: Path | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._now = folder, now
        self._processes: dict[_Key, psutil.Process] = {}
        self._written: dict[_Key, tuple[int, int]] = {}
        self._sampled_s: float | None = None
        self._core_times: list[tuple[float, float]] = []
        self._disk: DiskUse | None = None
        self._gpus = Gpus()

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
        self._processes = {key: known.get(key, p) for key, p in self._processes.items()}
        used = _use_of(self._processes)
        if not used.num_processes:
            return None
        is_first = not any(key in known for key in self._processes)
        memory = psutil.virtual_memory()
        return MachineSample(
            num_processes=used.num_processes,
            num_threads=used.num_threads,
            memory_bytes=used.memory_bytes,
            total_memory_bytes=memory.total,
            num_cores=psutil.cpu_count() or 1,
            cpu_cores=None if is_first else used.cpu_percent / 100,
            gpus=self._gpus.sample([process.pid for process in self._processes.values()]),
            core_loads=self._core_loads(),
            load=_load(),
            used_memory_bytes=memory.total - memory.available,
            disk=self._disk_sample(used.moved_bytes),
            user=_user(root),
        )

    def _core_loads(self) -> tuple[float, ...]:
        """How busy each core was since the sample before; empty in the first."""
        before, self._core_times = self._core_times, _core_times()
        if len(before) != len(self._core_times):
            return ()
        return tuple(
            min(max((busy - busy_before) / max(whole - whole_before, 1e-9), 0.0), 1.0)
            for (busy_before, whole_before), (busy, whole) in zip(
                before, self._core_times, strict=True
            )
        )

    def _disk_sample(self, moved: dict[_Key, tuple[int, int]]) -> DiskSample | None:
        """`moved` is what each process has read and written by now."""
        before, self._written = self._written, moved
        now_s = self._now()
        seconds = None if self._sampled_s is None else now_s - self._sampled_s
        self._sampled_s = now_s
        if self._folder and self._disk is None:
            self._disk = DiskUse(self._folder, self._now)
        sample = self._disk.sample() if self._disk else None
        if sample is None or not sample.is_run_alone or not seconds or not moved:
            return sample
        # What a process did before it was first seen is of no known time.
        seen = [(now, before[key]) for key, now in moved.items() if key in before]
        read, written = (sum(now[i] - then[i] for now, then in seen) for i in (0, 1))
        return replace(sample, read_bytes_per_s=read / seconds, write_bytes_per_s=written / seconds)


@dataclass
class _Use:
    """The resources that the processes of a run use together."""

    moved_bytes: dict[_Key, tuple[int, int]]  # read, written
    cpu_percent: float = 0.0
    memory_bytes: int = 0
    num_threads: int = 0
    num_processes: int = 0


def _use_of(processes: dict[_Key, psutil.Process]) -> _Use:
    use = _Use({})
    for key, process in processes.items():
        with contextlib.suppress(psutil.Error), process.oneshot():
            use.cpu_percent += process.cpu_percent()
            use.memory_bytes += process.memory_info().rss
            use.num_threads += process.num_threads()
            use.num_processes += 1
        # Not on every system, and not of a process of higher rights.
        with contextlib.suppress(psutil.Error, AttributeError, OSError):
            moved = process.io_counters()
            use.moved_bytes[key] = moved.read_bytes, moved.write_bytes
    return use


def _core_times() -> list[tuple[float, float]]:
    """For every core, the busy seconds and all seconds."""
    times: Sequence[Any] = psutil.cpu_times(percpu=True)
    cores = []
    for core in times:
        # The time of guests is counted in that of users already.
        guests = getattr(core, "guest", 0.0) + getattr(core, "guest_nice", 0.0)
        whole = sum(core) - guests
        cores.append((whole - core.idle - getattr(core, "iowait", 0.0), whole))
    return cores


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _user(process: psutil.Process) -> str:
    try:
        return str(process.username())
    except (psutil.Error, KeyError):
        return ""
