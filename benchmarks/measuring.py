"""Shared by the benchmarks: alternate sides in their own processes, and describe the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from operant.commands.bench.measuring import machine, summary, versions

__all__ = ["CoreUse", "busy", "machine", "run_side", "summary", "versions", "write_json"]


def run_side(script: str, *arguments: str) -> dict[str, Any]:
    """Run one side of a benchmark in a fresh process; its last line of output is a JSON object."""
    done = subprocess.run(
        [sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


class CoreUse:
    """CPU time and memory of a process since this object was created."""

    def __init__(self, process_id: int) -> None:
        self.process = psutil.Process(process_id)
        self._used_s, self._start_s = self._cpu_s(), time.monotonic()

    def fraction(self) -> float:
        return (self._cpu_s() - self._used_s) / (time.monotonic() - self._start_s)

    def rss_mib(self) -> float:
        return float(self.process.memory_info().rss / 2**20)

    def _cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


def busy() -> float:
    """How many processes wanted a core over the last minute, the benchmark's own included."""
    return os.getloadavg()[0]


def write_json(path: str | None, result: dict[str, Any]) -> None:
    """Write the whole result to `path`, if there is one."""
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n")
