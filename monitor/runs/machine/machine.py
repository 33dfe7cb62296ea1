"""What the machine does for one run, as one look at it found it; it needs nothing else of the
monitor. `machine_sampler.py` looks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuProcess:
    """A process on a GPU that is none of the run's; empty and None for what it does not tell."""

    pid: int
    user: str = ""
    name: str = ""
    memory_bytes: int | None = None


@dataclass(frozen=True)
class GpuSample:
    """One GPU, or one MIG slice of it; fields that it does not report are None.

    `index` is its number on the machine. `throttled` says what limits its clocks now. `others` are
    the processes that do not belong to the run; None if they are unknown.
    """

    name: str
    utilization_fraction: float | None = None
    memory_bytes: int | None = None
    total_memory_bytes: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    index: int | None = None
    slowdown_c: float | None = None
    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    throttled: tuple[str, ...] = ()
    others: tuple[GpuProcess, ...] | None = None


@dataclass(frozen=True)
class DiskSample:
    """The file system that the runs are kept on. Rates are those of its device, since the sample
    before; of the run's own processes where `is_run_alone`, as where a container knows no device.
    """

    free_bytes: int
    total_bytes: int
    read_bytes_per_s: float | None = None
    write_bytes_per_s: float | None = None
    is_run_alone: bool = False


@dataclass(frozen=True)
class MachineSample:
    """The processes of one trainer, the GPUs it uses, and how busy all of the machine is.

    `cpu_cores` is how many cores the trainer kept busy since the sample before, `core_loads` how
    busy each core was with anything, 0 to 1; None and empty in the first. `load` is the mean number
    of processes that ran or waited for a core in the last minute; `user` is whose the run is.
    """

    num_processes: int
    num_threads: int
    memory_bytes: int
    total_memory_bytes: int
    num_cores: int
    cpu_cores: float | None = None
    gpus: tuple[GpuSample, ...] = ()
    core_loads: tuple[float, ...] = ()
    load: float | None = None
    used_memory_bytes: int | None = None
    disk: DiskSample | None = None
    user: str = ""
