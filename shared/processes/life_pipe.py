"""A pipe that ends a process when the process that started it has ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys


def killed_when_closed(pipe: int) -> None:
    """Have the kernel kill this process as soon as no process has the writing end of `pipe` open,
    or something is written to it. Only on Linux.

    The signal (F_SETSIG) is SIGKILL, which code that never releases the interpreter cannot delay.
    Unlike with PR_SET_PDEATHSIG, the end of the other process counts, and not that of its thread.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):
        life = _opened_anew(pipe)
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(life, fcntl.F_SETFL, os.O_RDONLY | os.O_ASYNC)
        if select.select([life], [], [], 0)[0]:  # it had ended before
            os._exit(1)


def _opened_anew(pipe: int) -> int:
    """Open the pipe again, because an open file has one owner and other processes may have this
    one. A socket, as an ssh server may use, cannot be opened again.
    """
    try:
        return os.open(f"/proc/self/fd/{pipe}", os.O_RDONLY)
    except OSError:
        return pipe
