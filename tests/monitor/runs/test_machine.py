"""Sampling sees the trainer's processes and the GPU they use, and is quiet where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from views import SAMPLES, texts
from waiting import wait_for

from operant.monitor.panels.machine_lines import draw_machine
from operant.monitor.runs import machine
from operant.monitor.runs.machine import MachineSample, MachineSampler

FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
print(child.pid, flush=True)
child.wait()
"""


def test_a_process_and_its_children_are_counted_together():
    parent = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    try:
        sampler = MachineSampler()
        first = sampler.sample(parent.pid)
        assert first.num_processes == 2
        assert first.memory_bytes > 1 << 20
        assert first.cpu_cores is None
        busy = wait_for(lambda: (sampler.sample(parent.pid).cpu_cores or 0) > 0)
        assert busy
    finally:
        os.kill(child, 9)
        parent.wait()
    assert MachineSampler().sample(parent.pid) is None


def test_a_sample_survives_json():
    for sample in SAMPLES:
        assert MachineSample.from_json(json.loads(json.dumps(sample.as_json()))) == sample


def test_without_nvml_there_are_no_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert MachineSampler().sample(os.getpid()).gpus == ()


@pytest.fixture
def nvml(monkeypatch):
    """Two GPUs, of which the second runs this process and tells no power."""

    class NVMLError(Exception):
        pass

    def refuse(handle):
        raise NVMLError

    memory = SimpleNamespace(used=5 << 30, total=16 << 30)
    fake = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 2,
        nvmlDeviceGetHandleByIndex=lambda i: i,
        nvmlDeviceGetComputeRunningProcesses=lambda h: (
            [SimpleNamespace(pid=os.getpid())] if h == 1 else []
        ),
        nvmlDeviceGetMinorNumber=lambda h: h,
        nvmlDeviceGetName=lambda h: f"GPU {h}",
        nvmlDeviceGetUtilizationRates=lambda h: SimpleNamespace(gpu=83),
        nvmlDeviceGetMemoryInfo=lambda h: memory,
        nvmlDeviceGetPowerUsage=refuse,
        nvmlDeviceGetEnforcedPowerLimit=refuse,
        nvmlDeviceGetTemperature=lambda h, kind: 61,
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def test_the_gpu_that_runs_the_process_is_sampled_and_what_it_does_not_tell_is_none(nvml):
    (gpu,) = MachineSampler().sample(os.getpid()).gpus
    assert (gpu.name, gpu.utilization_fraction, gpu.temperature_c) == ("GPU 1", 0.83, 61.0)
    assert (gpu.memory_bytes, gpu.power_w, gpu.power_limit_w) == (5 << 30, None, None)


def test_where_nvml_knows_no_processes_the_open_device_files_tell(nvml, monkeypatch):
    nvml.nvmlDeviceGetComputeRunningProcesses = lambda handle: []
    assert MachineSampler().sample(os.getpid()).gpus == ()
    monkeypatch.setattr(machine, "_open_device_numbers", lambda pids: {0})
    assert [gpu.name for gpu in MachineSampler().sample(os.getpid()).gpus] == ["GPU 0"]


@pytest.mark.parametrize("width", [5, 20, 36, 80])
def test_the_lines_fit_and_say_what_is_used(width):
    lines = texts(draw_machine(SAMPLES, width, 8))
    assert all(len(line) <= max(width, 21) for line in lines)
    if width >= 36:
        text = "\n".join(lines)
        for words in ("1.5 cores of 8", "2.0 GiB", "82.0% 61°C", "5.0 of 16.0 GiB", "210 of 300 W"):
            assert words in text


def test_without_a_sample_it_says_so():
    assert "not on this machine" in texts(draw_machine([], 60, 5))[0]
