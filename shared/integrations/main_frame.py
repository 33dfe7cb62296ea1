"""Whether the program was left by an error: of all that is known at exit, the frame of the main
program alone tells what was caught from what was not.
"""

from __future__ import annotations

import dis
import sys
import threading
from types import FrameType

_RETURNS = frozenset(
    dis.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in dis.opmap
)


class MainFrame:
    """The outermost frame of the main thread, which ends with the program."""

    def __init__(self, frame: FrameType) -> None:
        self._frame = frame

    @classmethod
    def find(cls) -> MainFrame | None:
        """None where there is none to be seen."""
        thread = threading.main_thread().ident
        frame = sys._current_frames().get(thread) if thread is not None else None
        while frame is not None and frame.f_back is not None:
            frame = frame.f_back
        return cls(frame) if frame else None

    def was_left_by_error(self) -> bool | None:
        """False: it returned. None while it goes on, as in a forked child.

        A frame remembers its last instruction: to return, or the one that an error passed through.
        """
        frame = sys._getframe()
        while frame is not None:
            if frame is self._frame:
                return None
            frame = frame.f_back  # type: ignore[assignment]
        last = self._frame.f_lasti
        code = self._frame.f_code.co_code
        return None if not 0 <= last < len(code) else code[last] not in _RETURNS
