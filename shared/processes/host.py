"""Identifies processes, boots and machines."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path


def boot_id() -> bytes:
    """16 bytes that change with every boot; zeros if unknown."""
    try:
        return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).bytes
    except (OSError, ValueError):
        return bytes(16)


def process_start(pid: int) -> int:
    """The start time of process `pid`, in clock ticks since boot; 0 if unknown."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
        # The command's name, in brackets, may contain spaces and brackets.
        return int(status.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def is_process_stopped(pid: int) -> bool:
    """Whether process `pid` is stopped by a signal (SIGSTOP, Ctrl-Z) or a debugger."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] in (["T"], ["t"])


def pid_namespace() -> int:
    """The id of the namespace of process ids; 0 if unknown."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def machine_id() -> str:
    """The id of this installation in /etc/machine-id; the host's name if there is none."""
    try:
        return Path("/etc/machine-id").read_text().strip() or host_name()
    except (OSError, ValueError):
        return host_name()


def host_name() -> str:
    return socket.gethostname()
