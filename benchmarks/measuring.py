"""What the benchmarks share: alternating sides in processes of their own, and saying on what."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from operant.trainer.bench.measuring import machine, summary, versions

__all__ = ["machine", "run_side", "summary", "versions", "write_json"]


def run_side(script: str, *arguments: str) -> dict[str, Any]:
    """Run one side of a benchmark in a fresh process; its last line of output is a JSON object."""
    done = subprocess.run(
        [sys.executable, script, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def write_json(path: str | None, result: dict[str, Any]) -> None:
    """Write the whole result for later, where asked to."""
    if path:
        Path(path).write_text(json.dumps(result, indent=2) + "\n")
