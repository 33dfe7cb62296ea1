"""The ranks that a command has started, found by the home folder of the test that asks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from waiting import wait_for

from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import read_status

SMALL = (
    "cart_pole_ppo", "--name", "small", "--set", "num_envs=6", "--set", "rollout_steps=32",
    "--set", "policy.hidden_sizes=[16]", "--set", "evaluation.num_episodes=2",
    "--set", "ppo.num_epochs=1",
)  # fmt: skip
FOR_EVER = ("--set", "total_env_steps=1e12", "--set", "checkpoint.every_iterations=0",
            "--set", "evaluation.every_iterations=0")  # fmt: skip


def rank_pids() -> list[int]:
    """Processes of this test that are `operant rank`, those of a stand-in for ssh among them."""
    home, found = os.fsencode(f"OPERANT_HOME={os.environ['OPERANT_HOME']}"), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            is_ours = home in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_ours and words[-2:-1] == [b"rank"]:
            found.append(int(folder.name))
    return sorted(found)


def the_run() -> Run:
    (run,) = wait_for(list_runs)
    return run


def has_trained(run: Run) -> bool:
    return (read_status(run).iteration or 0) >= 2


@contextmanager
def training(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`operant train` in a session of its own, as in a terminal; it and its ranks do not outlive
    the block.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "operant", "train", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        kill_all(rank_pids())


def kill_all(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
