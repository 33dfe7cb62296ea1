"""NVML tells of the GPUs of a run and of who else is on them; what it refuses is left out."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from operant.monitor.runs.machine import gpus
from operant.monitor.runs.machine.gpus import NOT_AVAILABLE, Gpus
from operant.monitor.runs.machine.machine import GpuProcess
from operant.monitor.runs.machine.machine_sampler import MachineSampler

ME = os.getpid()


class NVMLError(Exception):
    pass


class NotSupportedError(NVMLError):
    pass


class NoPermissionError(NVMLError):
    pass


def refusing(error: type[NVMLError]):
    def refuse(*arguments):
        raise error

    return refuse


def process(pid: int, memory_bytes: int | None = None):
    return SimpleNamespace(pid=pid, usedGpuMemory=memory_bytes)


@pytest.fixture
def nvml(monkeypatch):
    """Two GPUs, of which the second runs this process and tells no power."""
    fake = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda i: i,
        nvmlDeviceGetMigMode=refusing(NotSupportedError),
        nvmlDeviceGetComputeRunningProcesses=lambda h: [process(ME, 5 << 30)] if h == 1 else [],
        nvmlDeviceGetGraphicsRunningProcesses=lambda h: [],
        nvmlDeviceGetMinorNumber=lambda h: h,
        nvmlDeviceGetName=lambda h: f"GPU {h}",
        nvmlDeviceGetUtilizationRates=lambda h: SimpleNamespace(gpu=83),
        nvmlDeviceGetMemoryInfo=lambda h: SimpleNamespace(used=5 << 30, total=16 << 30),
        nvmlDeviceGetPowerUsage=refusing(NotSupportedError),
        nvmlDeviceGetEnforcedPowerLimit=refusing(NotSupportedError),
        nvmlDeviceGetTemperature=lambda h, kind: 61,
        nvmlDeviceGetTemperatureThreshold=lambda h, kind: 90,
        nvmlDeviceGetClockInfo=lambda h, kind: {1: 1410, 2: 9501}[kind],
        nvmlDeviceGetMaxClockInfo=lambda h, kind: {1: 1980, 2: 10501}[kind],
        nvmlDeviceGetCurrentClocksEventReasons=lambda h: 0x1,
        nvmlSystemGetProcessName=refusing(NoPermissionError),
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def only_gpu():
    (gpu,) = Gpus().sample([ME])
    return gpu


def test_the_gpu_that_runs_the_process_is_sampled_and_what_it_does_not_tell_is_none(nvml):
    (gpu,) = MachineSampler().sample(ME).gpus
    assert (gpu.name, gpu.index, gpu.utilization_fraction) == ("GPU 1", 1, 0.83)
    assert (gpu.memory_bytes, gpu.power_w, gpu.power_limit_w) == (5 << 30, None, None)
    assert (gpu.temperature_c, gpu.slowdown_c) == (61.0, 90.0)
    assert (gpu.clock_mhz, gpu.max_clock_mhz, gpu.memory_clock_mhz) == (1410, 1980, 9501)
    assert (gpu.throttled, gpu.others) == ((), ())


def test_every_name_that_is_asked_for_is_one_of_pynvmls():
    """One that it lacks is taken for one that it does not tell."""
    import pynvml

    names = set(re.findall(r"nvml[A-Z]\w+", Path(gpus.__file__).read_text()))
    names |= {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"}
    names -= {"nvmlDeviceGet"}
    assert "nvmlDeviceGetClockInfo" in names
    assert [name for name in names if not hasattr(pynvml, name)] == []


def test_power_is_in_watts_of_its_limit(nvml):
    nvml.nvmlDeviceGetPowerUsage = lambda handle: 312_500
    nvml.nvmlDeviceGetEnforcedPowerLimit = lambda handle: 700_000
    assert (only_gpu().power_w, only_gpu().power_limit_w) == (312.5, 700.0)


@pytest.mark.parametrize("error", [NotSupportedError, NoPermissionError])
def test_a_gpu_that_tells_nothing_but_its_processes_has_a_name_and_no_numbers(nvml, error):
    told = ("Init", "Count", "Index", "ComputeRunning")
    for name in vars(nvml):
        if name.startswith("nvml") and not any(word in name for word in told):
            setattr(nvml, name, refusing(error))
    gpu = only_gpu()
    assert gpu.name == "GPU"
    numbers = {name: value for name, value in vars(gpu).items() if name not in ("name", "index")}
    assert numbers.pop("throttled") == ()
    assert numbers.pop("others") == ()
    assert set(numbers.values()) == {None}


@pytest.mark.parametrize("error", [NotSupportedError, NoPermissionError])
def test_where_the_processes_are_not_told_the_open_device_files_tell(nvml, monkeypatch, error):
    nvml.nvmlDeviceGetComputeRunningProcesses = refusing(error)
    assert Gpus().sample([ME]) == ()
    monkeypatch.setattr(gpus, "_open_device_numbers", lambda pids: {0})
    (gpu,) = Gpus().sample([ME])
    assert (gpu.name, gpu.others) == ("GPU 0", None)  # who else is there cannot be told


def test_a_driver_that_goes_away_leaves_no_gpus(nvml):
    sampler = Gpus()
    assert sampler.sample([ME])
    nvml.nvmlDeviceGetCount = refusing(NVMLError)
    assert sampler.sample([ME]) == ()


def test_an_older_pynvml_that_lacks_names_is_enough(nvml):
    """Reasons had another name until driver 535."""
    nvml.nvmlDeviceGetCurrentClocksThrottleReasons = lambda handle: 0x4
    for name in ("MigMode", "CurrentClocksEventReasons", "GraphicsRunningProcesses"):
        delattr(nvml, f"nvmlDeviceGet{name}")
    assert only_gpu().throttled == ("power cap",)


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x0, ()),
        (0x1, ()),  # nothing runs
        (0x4 | 0x40, ("power cap", "too hot (hardware)")),
        (0x8 | 0x80, ("hardware slowdown", "power brake")),
        (0x20 | 1 << 40, ("too hot",)),
    ],
)
def test_what_holds_the_clocks_down_is_said_in_words(nvml, bits, words):
    nvml.nvmlDeviceGetCurrentClocksEventReasons = lambda handle: bits
    assert only_gpu().throttled == words


def test_the_processes_of_others_are_named_the_largest_first(nvml):
    parent = os.getppid()
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda h: (
        [process(ME, 5 << 30), process(parent, 1 << 30), process(2**22 + 7, 3 << 30)]
        if h == 1
        else []
    )
    nvml.nvmlDeviceGetGraphicsRunningProcesses = lambda h: [process(parent, 2 << 20)]
    nvml.nvmlSystemGetProcessName = lambda pid: b"/opt/other/train"
    known = psutil.Process(parent)
    gone, ours = only_gpu().others
    assert gone == GpuProcess(2**22 + 7, "", "train", 3 << 30)
    assert ours == GpuProcess(parent, known.username(), known.name(), 1 << 30)


def test_memory_of_others_that_is_not_told_is_unknown(nvml):
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda h: [
        process(ME), process(2**22 + 7), process(2**22 + 8, NOT_AVAILABLE),
    ]  # fmt: skip
    gpus = Gpus().sample([ME])
    assert gpus
    for gpu in gpus:
        assert [(one.name, one.memory_bytes) for one in gpu.others] == [("", None), ("", None)]


def test_a_name_is_asked_once_for_each_process(nvml, monkeypatch):
    parent = os.getppid()
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda h: [process(ME), process(parent)]
    asked = []
    username = psutil.Process.username
    monkeypatch.setattr(
        psutil.Process, "username", lambda one: asked.append(one.pid) or username(one)
    )
    sampler = Gpus()
    for _ in range(3):
        sampler.sample([ME])
    assert asked == [parent]


@pytest.fixture
def mig(nvml):
    """GPU 1 divided into two parts, of which the second runs this process, at 3 of 7 places."""
    parts = {0: "1/0", 4: "1/4"}

    def part(handle, place):
        if place not in parts:
            raise NVMLError("not found")
        return parts[place]

    refuse_parts = lambda answer: (  # noqa: E731
        lambda handle, *more: refusing(NotSupportedError)() if isinstance(handle, str) else answer
    )
    nvml.nvmlDeviceGetMigMode = lambda h: [int(h == 1), int(h == 1)]
    nvml.nvmlDeviceGetMaxMigDeviceCount = lambda h: 7
    nvml.nvmlDeviceGetMigDeviceHandleByIndex = part
    nvml.nvmlDeviceGetName = lambda h: "H200 MIG 1g.18gb" if isinstance(h, str) else "H200"
    nvml.nvmlDeviceGetMemoryInfo = lambda h: SimpleNamespace(
        used=(2 if h == "1/4" else 99) << 30, total=18 << 30
    )
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda h: {
        "1/4": [process(ME, 1 << 30)], "1/0": [process(2**22 + 7)]
    }.get(h, [])  # fmt: skip
    nvml.nvmlDeviceGetUtilizationRates = refusing(NotSupportedError)
    nvml.nvmlDeviceGetPowerUsage = refuse_parts(300_000)
    nvml.nvmlDeviceGetTemperature = refuse_parts(55)
    nvml.nvmlDeviceGetClockInfo = refuse_parts(1200)
    return nvml


def test_of_a_divided_gpu_memory_is_the_parts_and_power_the_wholes(mig):
    (gpu,) = Gpus().sample([ME])
    assert (gpu.name, gpu.index) == ("H200 MIG 1g.18gb", 1)
    assert (gpu.memory_bytes, gpu.total_memory_bytes) == (2 << 30, 18 << 30)
    assert (gpu.power_w, gpu.temperature_c, gpu.clock_mhz) == (300.0, 55.0, 1200.0)
    assert gpu.utilization_fraction is None
    assert gpu.others == ()  # those of the other part are none of ours
