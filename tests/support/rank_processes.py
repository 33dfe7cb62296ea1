"""Ranks as processes of one machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

TIMEOUT_S = 1200.0  # a first run compiles, on a busy machine for minutes


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def rank_environ(rank: int, world_size: int, port: int) -> dict[str, str]:
    """The environment that torchrun gives a rank."""
    return {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
    }


@contextmanager
def started(
    commands: Sequence[Sequence[str]],
    folder: Path,
    environs: Mapping[int, Mapping[str, str]] | None = None,
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A rank for each of these arguments of Python, what it says in `folder`; none is left. Some
    ranks have another environment, as on another machine.
    """
    port, processes = free_port(), []
    try:
        for rank, command in enumerate(commands):
            environ = rank_environ(rank, len(commands), port) | dict((environs or {}).get(rank, {}))
            if len(commands) == 1:
                del environ["RANK"], environ["WORLD_SIZE"]
            with (folder / f"rank-{rank}.txt").open("wb") as said:
                processes.append(
                    subprocess.Popen(
                        [sys.executable, *command], env=environ, stdout=said, stderr=said
                    )
                )
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(TIMEOUT_S)


def said(folder: Path, rank: int) -> str:
    return (folder / f"rank-{rank}.txt").read_text()


def wait_for_all(processes: Sequence[subprocess.Popen[bytes]]) -> list[int]:
    """Exit codes."""
    deadline = time.monotonic() + TIMEOUT_S
    return [process.wait(max(0.1, deadline - time.monotonic())) for process in processes]


def training(*arguments: str) -> list[str]:
    """`operant train`, by Python."""
    return ["-m", "operant", "train", *arguments]
