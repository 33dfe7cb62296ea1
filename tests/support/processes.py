"""Processes as the monitor lists them: made up, the same every time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from operant.monitor.runs.machine.processes import Membership, ProcessRow
from operant.shared.runs.run_folder import Run

RUN = Run(Path("/runs/20261121-142530-cart_pole-ppo-k3f9"))
OTHER_RUN = Run(Path("/runs/20261121-150000-pendulum-sac-x2aa"))


@dataclass(frozen=True)
class MadeUpProcess:
    """In place of a psutil.Process."""

    pid: int


def made_up_row(
    pid: int, parent: int = 1, command: str = "", run: Run | None = None, role: str = "", **fields
) -> ProcessRow:
    member = Membership(run, run.id, role) if run else None
    known = {"user": "kim", "state": "sleeping", "memory_bytes": pid << 20, "cpu_cores": 0.0}
    command = command or f"program-{pid}"
    return ProcessRow(
        MadeUpProcess(pid), pid, parent, command=command, member=member, **known | fields
    )


def busy_machine() -> tuple[ProcessRow, ...]:
    """Two runs, one of them with workers, and what else a machine has."""
    trainer = "/usr/bin/python3 -m operant train cart_pole --detach"
    worker = "/usr/bin/python3 -P -m operant.trainer.envs.workers"
    return (
        made_up_row(1, 0, "/sbin/init", user="root", cpu_cores=0.01),
        made_up_row(812, 1, "sshd: kim", user="root"),
        made_up_row(840, 812, "-bash"),
        made_up_row(991, 840, "vim notes.txt", state="stopped"),
        made_up_row(1200, 1, trainer, RUN, "trainer", state="running", cpu_cores=0.97,
                    gpu_bytes=5 << 30),
        made_up_row(1210, 1200, worker, RUN, "worker", cpu_cores=0.42),
        made_up_row(1211, 1200, worker, RUN, "worker", cpu_cores=0.44),
        made_up_row(1230, 1, "/usr/bin/python3 -P -m operant record", RUN, "recorder"),
        made_up_row(2001, 840, "python sac.py", OTHER_RUN, "trainer", cpu_cores=0.61),
        made_up_row(2500, 840, "make -j2", cpu_cores=0.02),
        made_up_row(2501, 2500, "cc1plus physics.cpp", cpu_cores=0.88),
        made_up_row(2502, 2500, "[cc1plus]", state="zombie", memory_bytes=0),
    )  # fmt: skip
