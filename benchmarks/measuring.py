"""What the benchmarks share: alternating sides in processes of their own, and saying on what."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Where and when something was measured."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions(*packages: str) -> dict[str, str]:
    return {package: importlib.metadata.version(package) for package in packages}


def run_side(script: str, *arguments: str) -> dict[str, Any]:
    """Run one side of a benchmark in a fresh process; its last line of output is a JSON object."""
    done = subprocess.run(
        [sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def summary(values: Sequence[float]) -> dict[str, float]:
    """Median and spread of repeated measurements."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def write_json(path: str | None, result: dict[str, Any]) -> None:
    """Write the whole result for later, where asked to."""
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
