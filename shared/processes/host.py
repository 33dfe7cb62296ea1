"""What tells one process, one boot and one machine from another."""

from __future__ import annotations

import os
import socket
import uuid
from pathlib import Path


def boot_id() -> bytes:
    """16 bytes that change with every boot; zeros where the system does not tell."""
    try:
        return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).bytes
    except (OSError, ValueError):
        return bytes(16)


def process_start(pid: int) -> int:
    """When process `pid` started, in clock ticks since boot; 0 where unknown or gone."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
        # The command's name, in brackets, may itself hold spaces and brackets.
        return int(status.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def is_process_stopped(pid: int) -> bool:
    """Whether process `pid` stands still by a signal (SIGSTOP, Ctrl-Z) or a debugger."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] in (["T"], ["t"])


def pid_namespace() -> int:
    """Equal in all processes that number processes alike; 0 where the system does not tell."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def machine_id() -> str:
    """The id of this installation in /etc/machine-id; the host's name where there is none."""
    try:
        found = Path("/etc/machine-id").read_text().strip()
    except (OSError, ValueError):
        found = ""
    return found or host_name()


def host_name() -> str:
    return socket.gethostname()
