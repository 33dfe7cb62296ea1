"""A pipe that tells a process that whoever started it is gone, by will or by dying."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys


def killed_when_closed(pipe: int) -> None:
    """Have the kernel kill this process once nobody has the writing end of `pipe`, or anything is
    written to it; at once where that is so already. Only on Linux.

    Its choice of a signal (F_SETSIG) is SIGKILL, which nobody can take or hold up, as code that
    never lets go of the interpreter does. Unlike with PR_SET_PDEATHSIG it is the end of the process
    that counts, and not that of the thread that started this one.
    """
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError):
        life = _opened_anew(pipe)
        fcntl.fcntl(life, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(life, fcntl.F_SETFL, os.O_RDONLY | os.O_ASYNC)
        if select.select([life], [], [], 0)[0]:  # it was gone before that
            os._exit(1)


def _opened_anew(pipe: int) -> int:
    """Other processes may have the same pipe, and an open file has one owner. What is a socket, as
    an ssh server may have it, cannot be opened.
    """
    try:
        return os.open(f"/proc/self/fd/{pipe}", os.O_RDONLY)
    except OSError:
        return pipe
