"""The command line as people use it: processes, exit codes, what is printed where."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PATIENCE_S = 600  # a first run compiles, on a busy machine for minutes

SHORT = ("--set", "total_env_steps=4096", "--set", "evaluation.num_episodes=5",
         "--set", "num_threads=1")  # fmt: skip
# Many more steps than any test waits for.
ENDLESS = ("--set", "total_env_steps=1e12", "--set", "evaluation.every_iterations=0",
           "--set", "num_threads=1", "--set", "checkpoint.every_iterations=0")  # fmt: skip


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the tests' Python to its end: with `-c` and code, most often."""
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def operant(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "operant", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        **options,
    )


def operant_json(*arguments: str) -> Any:
    """What a command prints as JSON; it must succeed and print nothing else."""
    done = operant(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def error_line(*arguments: str, code: int = 2) -> str:
    """The one line that a command fails with, and nothing on standard output."""
    done = operant(*arguments)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("operant: ")
    assert done.stderr.count("\n") == 1
    return done.stderr
