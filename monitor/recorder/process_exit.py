"""How a process exited, as Linux tells those that hold its pidfd (since 6.15)."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
from contextlib import suppress

from ...shared import MetricsReader, Outcome
from ...shared.host import boot_id, process_start

# `struct pidfd_info` of linux/pidfd.h: mask (u64), cgroupid (u64), eleven numbers of processes,
# users and groups (u32), exit_code (i32). The kernel fills in what `mask` asks for and it knows.
PIDFD_INFO = struct.Struct("=QQ11Ii")
PIDFD_INFO_EXIT = 1 << 3
PIDFD_GET_INFO = 3 << 30 | PIDFD_INFO.size << 16 | 0xFF << 8 | 11  # _IOWR(0xFF, 11, pidfd_info)


class ProcessExit:
    """Waits for the exit status of the process that writes a page."""

    def __init__(self, reader: MetricsReader) -> None:
        """A process of another machine or container, and one that is gone, has no status here."""
        self._pidfd = -1
        header = reader.header
        # If process 1 of a container exits, nobody in there is left to ask.
        if header.pid > 1 and header.boot_id == boot_id() and hasattr(os, "pidfd_open"):
            with suppress(OSError):
                self._pidfd = os.pidfd_open(header.pid)
            if process_start(header.pid) != header.process_start:
                self.close()

    def code(self, patience_s: float) -> int | None:
        """The exit code, or minus the number of the signal that killed it. None where the kernel
        does not tell, and when the process's parent has not collected it within `patience_s`.
        """
        if self._pidfd < 0:
            return None
        info = bytearray(PIDFD_INFO.pack(PIDFD_INFO_EXIT, *[0] * 13))
        try:
            fcntl.ioctl(self._pidfd, PIDFD_GET_INFO, info)  # fails at once before Linux 6.13
            if not PIDFD_INFO.unpack(info)[0] & PIDFD_INFO_EXIT:
                collected = select.poll()
                collected.register(self._pidfd, 0)  # POLLHUP alone
                collected.poll(1000 * patience_s)
                PIDFD_INFO.pack_into(info, 0, PIDFD_INFO_EXIT, *[0] * 13)
                fcntl.ioctl(self._pidfd, PIDFD_GET_INFO, info)
        except OSError:
            self.close()
            return None
        mask, *_, status = PIDFD_INFO.unpack(info)
        return os.waitstatus_to_exitcode(status) if mask & PIDFD_INFO_EXIT else None

    def close(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


def outcome_of_exit(code: int, said: Outcome | None, wall_ns: int) -> Outcome | None:
    """The outcome that a process's exit `code` means, where it `said` something else or nothing.
    None where what it said holds, and where nothing is known but the signal that killed it.
    """
    if said and said.state != "ended" and said.exit_code == (code if code >= 0 else 128 - code):
        return None
    if code >= 0:
        message = f"exit code {code}" if code else ""
        return Outcome("failed" if code else "finished", code, message, wall_ns)
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    if code in (-signal.SIGINT, -signal.SIGTERM):
        return Outcome("stopped", 128 - code, f"by {name}", wall_ns)
    if said is None:  # it crashed
        return None
    return Outcome("failed", 128 - code, f"killed by {name} as it exited", wall_ns)
