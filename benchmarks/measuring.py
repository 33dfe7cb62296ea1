"""What the benchmarks share: alternating sides in processes of their own, and saying on what."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from operant.trainer.bench.measuring import machine, summary, versions

__all__ = ["busy", "machine", "run_side", "summary", "versions", "write_json"]


def run_side(script: str, *arguments: str, python: str = sys.executable) -> dict[str, Any]:
    """Run one side of a benchmark in a fresh process; its last line of output is a JSON object."""
    done = subprocess.run(
        [python, script, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def busy() -> float:
    """How many processes wanted a core over the last minute, the benchmark's own included."""
    return os.getloadavg()[0]


def write_json(path: str | None, result: dict[str, Any]) -> None:
    """Write the whole result for later, where asked to."""
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n")
