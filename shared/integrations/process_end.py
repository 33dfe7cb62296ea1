"""How the process of a loop ends, so that its runs can say it: in good order, by an error, by a
signal. Python tells none of this at exit, so `sys.exit`, `sys.excepthook` and, where nobody handles
it, SIGTERM are listened to while runs are open.
"""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import signal
import sys
import threading
import traceback
from types import FrameType, TracebackType
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from ..outcome import State
from ..plain_values import described_error, text_of

TRACEBACK_CHARACTERS = 900  # the end of it, where the error is


class Ending(NamedTuple):
    """What a run says at its end; `traceback` is empty unless an error ended it."""

    state: State
    exit_code: int
    message: str = ""
    traceback: str = ""


class Endable(Protocol):
    def end(self, ending: Ending) -> None:
        """Leave the run with its last word."""


FINISHED = Ending("finished", 0)
BY_SIGTERM = Ending("stopped", 128 + signal.SIGTERM, "by SIGTERM")
_open: list[Endable] = []


def ending_of(error: BaseException | None) -> Ending:
    """How a run ends whose process, or `with` block, is left by `error`."""
    if error is None:
        return FINISHED
    if isinstance(error, KeyboardInterrupt):
        return Ending("stopped", 128 + signal.SIGINT, "by SIGINT")
    if isinstance(error, SystemExit):
        return _ending_of_exit(error.code)
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:  # an error may not even be able to say what it is
        text = described_error(error)
    return Ending("failed", 1, described_error(error), text[-TRACEBACK_CHARACTERS:])


def _ending_of_exit(code: object) -> Ending:
    """As Python leaves a process: of a whole number the lowest 8 bits count, and whatever else is
    not None is printed and means 1.
    """
    if code is None:
        return FINISHED
    if not issubclass(type(code), int):  # isinstance would ask the object
        return Ending("failed", 1, text_of(code))
    exit_code = int.__index__(cast(int, code)) & 0xFF
    return Ending("failed", exit_code, f"exit code {exit_code}") if exit_code else FINISHED


def end_with_process(run: Endable) -> None:
    """From here on the end of the process is the end of `run`, unless `forget` comes first."""
    if not _open:
        _listener.start()
    _open.append(run)


def forget(run: Endable) -> None:
    if run in _open:
        _open.remove(run)
    if not _open:
        _listener.stop()


def leave_sigterm() -> None:
    """The loop has its own way to stop by SIGTERM, and will end its run then."""
    _listener.leave_sigterm()


def go_on() -> None:
    """The process is still at work: the error or exit seen before was not its end."""
    _listener.error = None


def _end_all(ending: Ending) -> None:
    for run in list(_open):
        run.end(ending)


def _end_at_exit() -> None:
    # A process of multiprocessing comes here with its error in flight.
    _end_all(ending_of(sys.exc_info()[1] or _listener.error))


class _Listener:
    """Listens while there are open runs, and leaves everything as it was afterwards."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._exit, self._excepthook = sys.exit, sys.excepthook
        self._handles_sigterm = False

    def start(self) -> None:
        self.error = None
        self._exit, self._excepthook = sys.exit, sys.excepthook
        sys.exit, sys.excepthook = self.exit, self.excepthook
        if multiprocessing.parent_process() is not None:
            # A process of multiprocessing leaves by its finalizers, not by what atexit knows.
            multiprocessing.util.Finalize(None, _end_at_exit, exitpriority=0)
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.sigterm)
            self._handles_sigterm = True

    def stop(self) -> None:
        """Only what nobody has replaced or wrapped since is put back."""
        if sys.exit == self.exit:
            sys.exit = self._exit
        if sys.excepthook == self.excepthook:
            sys.excepthook = self._excepthook
        self.leave_sigterm()

    def leave_sigterm(self) -> None:
        if self._handles_sigterm and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self.sigterm:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._handles_sigterm = False

    def exit(self, status: Any = None) -> NoReturn:
        if threading.current_thread() is threading.main_thread():
            self.error = SystemExit(status)
        self._exit(status)

    def excepthook(
        self, kind: type[BaseException], error: BaseException, where: TracebackType | None
    ) -> None:
        if not hasattr(sys, "ps1"):  # at a prompt, an error ends nothing
            self.error = error
        self._excepthook(kind, error, where)

    def sigterm(self, number: int, frame: FrameType | None) -> None:
        """Say why, then die of the signal as a process without a handler does."""
        _end_all(BY_SIGTERM)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _leave_to_the_parent() -> None:
    """A forked child has no part in its parent's runs."""
    _open.clear()
    _listener.stop()


_listener = _Listener()
atexit.register(_end_at_exit)
os.register_at_fork(after_in_child=_leave_to_the_parent)
