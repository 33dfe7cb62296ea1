"""The Python that runs this process, to start another program of operant with it."""

from __future__ import annotations

import os
import re
import sys

# Its usual names: python, python3.11, pypy3, python3.13t, python.exe.
_PYTHON = re.compile(
    r"\.?(python|pypy|graalpy)[\d.]*[dmtw]{0,2}(-(dbg|wrapped|nogil|intel64))?(\.exe)?",
    re.IGNORECASE,
)
# Programs made by PyInstaller, cx_Freeze and py2exe; by PyOxidizer; by Nuitka.
_FROZEN = ("frozen", "oxidized")


def python_program() -> str | None:
    """The path of the Python that runs this process; None in a frozen or embedding program, where
    `sys.executable` is the program itself.
    """
    path = sys.executable or ""
    is_frozen = any(getattr(sys, name, False) for name in _FROZEN)
    is_frozen |= "__compiled__" in vars(sys.modules.get("__main__", sys))
    if is_frozen or not _PYTHON.fullmatch(os.path.basename(path)):
        return None
    return path
