"""Sampling sees the trainer's processes, every core, the memory and the disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
from waiting import wait_for

from operant.monitor.runs.machine import machine_sampler
from operant.monitor.runs.machine.machine_sampler import MachineSampler

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


def test_without_nvml_there_are_no_gpus(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert MachineSampler().sample(os.getpid()).gpus == ()


def test_every_core_has_its_load_from_the_second_sample_on():
    sampler = MachineSampler()
    assert sampler.sample(os.getpid()).core_loads == ()
    deadline_s = time.process_time() + 0.1
    while time.process_time() < deadline_s:
        pass
    sample = sampler.sample(os.getpid())
    assert len(sample.core_loads) == sample.num_cores
    assert 0 < max(sample.core_loads) <= 1
    assert min(sample.core_loads) >= 0


def test_the_machine_is_told_apart_from_the_run(tmp_path):
    sample = MachineSampler(tmp_path).sample(os.getpid())
    assert sample.memory_bytes < sample.used_memory_bytes < sample.total_memory_bytes
    assert sample.user == psutil.Process().username()
    assert sample.disk.total_bytes == shutil.disk_usage(tmp_path).total
    assert 0 < sample.disk.free_bytes < sample.disk.total_bytes


def test_a_folder_that_is_not_there_has_no_disk(tmp_path):
    assert MachineSampler(tmp_path / "gone").sample(os.getpid()).disk is None


def test_rates_of_a_disk_are_what_its_device_moved_since_the_sample_before(tmp_path, monkeypatch):
    stat = tmp_path / "stat"
    monkeypatch.setattr(machine_sampler, "_stat_path", lambda folder: stat)
    disk = machine_sampler.DiskUse(tmp_path, iter([10.0, 12.0, 14.0]).__next__)
    stat.write_text("  5 0 100 7 9 0 1000 8 0 0 0")
    first = disk.sample()
    assert (first.read_bytes_per_s, first.write_bytes_per_s) == (None, None)
    stat.write_text("  5 0 108 7 9 0 1200 8 0 0 0")
    second = disk.sample()
    # 8 and 200 sectors of 512 bytes in 2 seconds
    assert (second.read_bytes_per_s, second.write_bytes_per_s) == (2048.0, 51200.0)
    stat.write_text("odd")
    assert disk.sample().is_run_alone


def test_where_no_device_tells_the_processes_of_the_run_do(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_sampler, "_stat_path", lambda folder: None)
    moved = iter([(100, 200), (300, 1200)])

    def counters(process):
        """Disk counters of this process; zeros for all others."""
        read, written = next(moved) if process.pid == os.getpid() else (0, 0)
        return SimpleNamespace(read_bytes=read, write_bytes=written)

    monkeypatch.setattr(psutil.Process, "io_counters", counters)
    sampler = MachineSampler(tmp_path, iter([10.0, 12.0]).__next__)
    assert sampler.sample(os.getpid()).disk.read_bytes_per_s is None
    disk = sampler.sample(os.getpid()).disk
    assert (disk.read_bytes_per_s, disk.write_bytes_per_s) == (100.0, 500.0)
    assert disk.is_run_alone


def test_a_file_system_of_many_parts_leads_to_its_device(monkeypatch, tmp_path):
    """Btrfs numbers its file systems itself; the mount names the device."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 27 0:21 / /proc rw - proc proc rw\n30 27 0:44 / / rw shared:1 - btrfs /dev/null rw\n"
    )
    read_text = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, *a: read_text(mounts if path.parts[1] == "proc" else path)
    )
    assert machine_sampler._mounted_device(os.makedev(0, 44)) == os.stat("/dev/null").st_rdev
    assert machine_sampler._mounted_device(os.makedev(0, 21)) is None
    assert machine_sampler._mounted_device(os.makedev(0, 99)) is None
