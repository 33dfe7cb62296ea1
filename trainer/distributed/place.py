"""The rank of this process, from the environment variables of torchrun or srun."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...shared.errors import UsageError

MAX_RANKS = 1024
FIRST_SLURM_PORT, NUM_SLURM_PORTS = 20_000, 10_000


@dataclass(frozen=True)
class Place:
    """Rank `rank` of `world_size`, number `local_rank` of `local_world_size` on its machine. Ranks
    meet at `master_addr`, port `master_port`. Rank 0 listens there, on the socket `listen_fd` if it
    is already open, unless the program that started the ranks does (`is_met`). `attempt` is
    different for each restart.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    master_addr: str
    master_port: int
    is_met: bool = False
    attempt: str = "0"
    listen_fd: int | None = None

    @property
    def hosts_store(self) -> bool:
        """Whether this process hosts the store where ranks meet."""
        return self.rank == 0 and not self.is_met


def place_of(environ: Mapping[str, str]) -> Place | None:
    """The place from the variables of torchrun, or of a step of srun; None for a single process.
    Raises UsageError for impossible values.
    """
    if "RANK" in environ or "WORLD_SIZE" in environ:
        return _checked(environ, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    # Only in a step: a script of sbatch also has SLURM_PROCID but is a single process.
    if "SLURM_STEP_NUM_TASKS" in environ and "SLURM_PROCID" in environ:
        return _checked(_with_torchrun_names(environ), "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                        "SLURM_LOCALID", "LOCAL_WORLD_SIZE")  # fmt: skip
    return None


def _checked(environ: Mapping[str, str], *names: str) -> Place | None:
    rank_name, size_name, local_rank_name, local_size_name = names
    rank, world_size = (_number(environ, name) for name in (rank_name, size_name))
    if world_size > MAX_RANKS:
        raise UsageError(f"{size_name} = {world_size} ranks are too many: {MAX_RANKS} are the most")
    if not 0 <= rank < world_size:
        raise UsageError(
            f"{rank_name} = {rank} and {size_name} = {world_size}: ranks are 0 to {size_name} - 1"
        )
    if world_size == 1:
        return None
    local_rank = _number(environ, local_rank_name, 0)
    port = _number(environ, "MASTER_PORT")
    if not 1 <= port <= 65535:
        raise UsageError(f"MASTER_PORT = {port} is not a port; they are 1 to 65535")
    return Place(
        rank, world_size, local_rank,
        max(_number(environ, local_size_name, 1), local_rank + 1),
        _text(environ, "MASTER_ADDR"), port,
        is_met=environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
        attempt=environ.get("TORCHELASTIC_RESTART_COUNT", "0"),
    )  # fmt: skip


def _text(environ: Mapping[str, str], name: str) -> str:
    if not environ.get(name):
        raise UsageError(f"{name} is not set, as torchrun and srun set it for several ranks")
    return environ[name]


def _number(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    if name not in environ and default is not None:
        return default
    text = _text(environ, name)
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{name} = {text} is not a number")
    return int(text)


def _with_torchrun_names(environ: Mapping[str, str]) -> dict[str, str]:
    """Add the address where Slurm's ranks meet, unless it is set: the step's first node, and a port
    computed from the job and the step. Also add the number of ranks on this node.
    """
    named = dict(environ)
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", "")
    if nodes:
        named.setdefault("MASTER_ADDR", first_node(nodes))
    job, step = (_number(environ, f"SLURM_{name}_ID", 0) for name in ("JOB", "STEP"))
    port = FIRST_SLURM_PORT + (job + step) % NUM_SLURM_PORTS
    named.setdefault("MASTER_PORT", str(port))
    tasks = tasks_per_node(environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    node = _number(environ, "SLURM_NODEID", 0)
    if node < len(tasks):
        named.setdefault("LOCAL_WORLD_SIZE", str(tasks[node]))
    return named


def tasks_per_node(text: str) -> list[int]:
    """2, 2, 2, 1 for Slurm's `2(x3),1`; empty for invalid text."""
    if not re.fullmatch(r"\d+(\(x\d{1,5}\))?(,\d+(\(x\d{1,5}\))?)*", text, re.ASCII):
        return []
    counts = re.findall(r"(\d+)(?:\(x(\d+)\))?", text)
    return [int(tasks) for tasks, times in counts for _ in range(int(times or 1))]


def first_node(nodes: str) -> str:
    """The first node of Slurm's short list: `gpu03` for `gpu[03-05,9],cpu1`."""
    first = re.match(r"([^\[,]*)(?:\[([^\],-]*)[^\]]*\])?([^,]*)", nodes)
    assert first
    return "".join(part or "" for part in first.groups())
