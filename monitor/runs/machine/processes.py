"""The processes of this machine: what each uses, and which run it belongs to."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import psutil

from ....shared.errors import OperantError
from ....shared.processes.lock import LAUNCHER, NUM_BYTES, RECORDER, lock_holder
from ....shared.runs.find_runs import list_runs
from ....shared.runs.run_folder import Run
from .gpus import Gpus

MAX_COMMAND = 500  # characters
CHECKED_AT_ONCE = 40  # ended runs that are checked in one sample, because they may be resumed
_WORKERS = "-m operant.trainer.envs.workers"  # in the command of every environment worker


class Membership(NamedTuple):
    """The run that a process belongs to, and as what: `trainer`, `recorder`, `launcher`,
    `worker` (of environments) or `child`.
    """

    run: Run
    run_name: str
    role: str

    @property
    def is_trainer(self) -> bool:
        return self.role == "trainer"


class ProcessRow(NamedTuple):
    """One process. `cpu_cores` is how many cores it kept busy since the sample before; None in its
    first sample. `gpu_bytes` is the GPU memory that it holds. `process` knows when it was started.
    """

    process: psutil.Process
    pid: int
    parent: int
    user: str
    state: str
    command: str
    memory_bytes: int
    cpu_cores: float | None = None
    gpu_bytes: int = 0
    member: Membership | None = None


def send_signal(row: ProcessRow, number: signal.Signals) -> None:
    """Signal the process that `row` was made from, and no other that has its number by now. Raises
    OperantError.
    """
    try:
        row.process.send_signal(number)  # compares the time at which the process was started
    except psutil.NoSuchProcess:
        raise OperantError(f"process {row.pid} has ended: {number.name} was not sent") from None
    except (psutil.AccessDenied, ValueError):
        whose = f"process {row.pid} of user {row.user}"
        raise OperantError(f"{whose}: you are not allowed to send it {number.name}") from None


class ProcessSampler:
    """Samples all processes that this user can see."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._sampled_s = 0.0
        self._known: dict[tuple[int, float], _Known] = {}
        self._runs = _RunProcesses()
        self._gpus = Gpus()

    def sample(self) -> tuple[ProcessRow, ...]:
        """All processes, by number."""
        before, before_s = self._known, self._sampled_s
        now_s = self._now()
        readings = {pid: reading for pid in psutil.pids() if (reading := _read(pid))}
        known: dict[tuple[int, float], _Known] = {}
        for pid, reading in readings.items():
            one = before.get((pid, reading.start))
            # A process that executes another program gets another name and command line.
            if one is None or one.reading.name != reading.name:
                one = _identify(pid, reading)
            if one:
                known[pid, reading.start] = one._replace(reading=reading)
        self._known, self._sampled_s = known, now_s
        members = _with_descendants(self._runs.find(), readings)
        gpu_bytes = self._gpus.memory_by_process()
        rows = []
        for key, one in known.items():
            pid, reading, member = key[0], one.reading, members.get(key[0])
            if member and member.role == "child" and _WORKERS in one.command:
                member = member._replace(role="worker")
            cores = None
            if key in before:
                spent_s = reading.cpu_s - before[key].reading.cpu_s
                cores = spent_s / max(now_s - before_s, 1e-9)
            rows.append(
                ProcessRow(
                    one.process, pid, reading.parent, one.user, reading.state, one.command,
                    reading.memory_bytes, cores, gpu_bytes.get(pid, 0), member,
                )
            )  # fmt: skip
        return tuple(rows)


class _Reading(NamedTuple):
    """What changes while a process lives; `start` is when it was started, in any unit."""

    name: str
    state: str
    parent: int
    cpu_s: float
    start: float
    memory_bytes: int


class _Known(NamedTuple):
    """What stays the same, and the newest reading."""

    process: psutil.Process
    user: str
    command: str
    reading: _Reading


_STATES = {
    "R": psutil.STATUS_RUNNING,
    "S": psutil.STATUS_SLEEPING,
    "D": psutil.STATUS_DISK_SLEEP,
    "T": psutil.STATUS_STOPPED,
    "t": psutil.STATUS_TRACING_STOP,
    "Z": psutil.STATUS_ZOMBIE,
    "I": psutil.STATUS_IDLE,
}


def _read(pid: int) -> _Reading | None:
    """None if the process is gone or does not show what it uses."""
    # psutil reads several files for these: four times as long with thousands of processes.
    return _read_stat(pid) if sys.platform == "linux" else _read_by_psutil(pid)


def _read_stat(pid: int) -> _Reading | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return None
    # The name, in brackets, may itself hold spaces and brackets.
    head, _, rest = text.rpartition(")")
    words = rest.split()
    return _Reading(
        name=head.partition("(")[2],
        state=_STATES.get(words[0], words[0]),
        parent=int(words[1]),
        cpu_s=(int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"),
        start=int(words[19]),
        memory_bytes=int(words[21]) * os.sysconf("SC_PAGE_SIZE"),
    )


def _read_by_psutil(pid: int) -> _Reading | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            return _Reading(
                name=process.name(),
                state=process.status(),
                parent=process.ppid(),
                cpu_s=times.user + times.system,
                start=process.create_time(),
                memory_bytes=process.memory_info().rss,
            )
    except psutil.Error:
        return None


def _identify(pid: int, reading: _Reading) -> _Known | None:
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None
    user = command = ""
    with contextlib.suppress(psutil.Error):
        user = process.username()
    with contextlib.suppress(psutil.Error):
        command = " ".join(process.cmdline())[:MAX_COMMAND].strip()
    return _Known(process, user, command or f"[{reading.name}]", reading)


class _RunProcesses:
    """The processes that hold the locks of this user's runs."""

    def __init__(self) -> None:
        self._ended: set[Run] = set()
        self._next_check = 0

    def find(self) -> dict[int, Membership]:
        runs = list_runs()
        ended = [run for run in runs if run in self._ended]
        start = self._next_check if self._next_check < len(ended) else 0
        self._next_check = start + CHECKED_AT_ONCE
        checked = [run for run in runs if run not in self._ended]
        found: dict[int, Membership] = {}
        self._ended = set(ended)
        for run in [*checked, *ended[start : self._next_check]]:
            members = _members(run)
            found |= members
            (self._ended.discard if members else self._ended.add)(run)
        return found


def _members(run: Run) -> dict[int, Membership]:
    """The processes that hold a lock of `run` and can be seen from here."""
    if lock_holder(run.lock_path, 0, NUM_BYTES + 1) is None:  # with the recorder's byte
        return {}
    roles = {0: "trainer", LAUNCHER: "launcher", RECORDER: "recorder"}
    name, members = run.name, {}
    for byte, role in roles.items():
        holder = lock_holder(run.lock_path, byte, 1)
        if holder and holder.pid:
            members[holder.pid] = Membership(run, name, role)
    return members


def _with_descendants(
    members: Mapping[int, Membership], readings: Mapping[int, _Reading]
) -> dict[int, Membership | None]:
    """`members`, and the processes that they have started, which belong to the same run."""
    found: dict[int, Membership | None] = dict(members)
    for pid in readings:
        path = []
        while pid not in found and pid in readings:
            found[pid] = None  # until its parent's run is known
            path.append(pid)
            pid = readings[pid].parent
        above = found.get(pid)
        for below in path:
            found[below] = above and above._replace(role="child")
    return found
