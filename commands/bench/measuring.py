"""Measures sides alternately, so that changes of the machine over time hit all of them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass
class Sample:
    """One measurement; `phases` are named parts of its seconds."""

    env_steps: int
    seconds: float
    phases: dict[str, float] = field(default_factory=dict)


class Side(Protocol):
    """A program or configuration that is compared with others."""

    name: str

    def prepare(self) -> None:
        """Do all one-time work: compilation, graphs, warming up."""

    def measure(self, seconds: float) -> Sample:
        """Work for about `seconds`."""


def alternate(sides: Sequence[Side], repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Measure every side `repeats` times in turn; returns a result for every side, as JSON."""
    startup_s = {}
    for side in sides:
        start = time.perf_counter()
        side.prepare()
        startup_s[side.name] = time.perf_counter() - start
    samples: dict[str, list[Sample]] = {side.name: [] for side in sides}
    for repeat in range(repeats):
        # Each side goes first in turn.
        for side in (*sides[repeat % len(sides) :], *sides[: repeat % len(sides)]):
            samples[side.name].append(side.measure(seconds))
    return [_result(side.name, startup_s[side.name], samples[side.name]) for side in sides]


def _result(name: str, startup_s: float, samples: Sequence[Sample]) -> dict[str, Any]:
    total_s = sum(sample.seconds for sample in samples)
    phases = sorted({phase for sample in samples for phase in sample.phases})
    return {
        "name": name,
        "env_steps_per_s": summary([sample.env_steps / sample.seconds for sample in samples]),
        "env_steps": sum(sample.env_steps for sample in samples),
        "startup_s": startup_s,
        "phase_fractions": {
            phase: sum(sample.phases.get(phase, 0.0) for sample in samples) / total_s
            for phase in phases
        },
    }


def timed(work: Callable[[], int], seconds: float) -> Sample:
    """Repeat `work`, which returns the env steps it made, for about `seconds`."""
    env_steps, start = 0, time.perf_counter()
    while True:
        env_steps += work()
        elapsed_s = time.perf_counter() - start
        if elapsed_s >= seconds:
            return Sample(env_steps, elapsed_s)


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median and spread of repeated measurements."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def machine() -> dict[str, Any]:
    """The machine and the date of a measurement."""
    import torch  # here: the benchmarks of the monitor measure a process without it

    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cuda": torch.version.cuda,
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions(*packages: str) -> dict[str, str | None]:
    """Versions of packages; None for packages that are not installed."""
    return {package: _version(package) for package in packages}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
