"""Ends open runs when their process ends, with the state that Python can see from within:
`sys.excepthook` gets uncaught errors, and `sys.exit` most exit codes. Both are replaced while runs
are open, and SIGTERM is handled if the loop does not. Without any of these the state is "ended".
The recorder, another process, corrects it by the exit status if the kernel reports one.
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
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from ..runs.outcome import CODE_UNKNOWN, State
from ..text.plain_values import described_error, text_of

TRACEBACK_CHARACTERS = 900  # of its end, where the error is


class Ending(NamedTuple):
    """The outcome of a run; `traceback` is empty unless an error ended it. `is_provisional` means
    that the process has not exited yet, and may still exit in another way.
    """

    state: State
    exit_code: int
    message: str = ""
    traceback: str = ""
    is_provisional: bool = False


class Endable(Protocol):
    def end(self, ending: Ending) -> None:
        """Write how the run ended."""


FINISHED = Ending("finished", 0)
BY_SIGTERM = Ending("stopped", 128 + signal.SIGTERM, "by SIGTERM")
UNKNOWN = Ending("ended", 0, CODE_UNKNOWN)


def ending_of(error: BaseException | None) -> Ending:
    """The ending of a run whose process, or `with` block, is left by `error`."""
    if error is None:
        return FINISHED
    if isinstance(error, KeyboardInterrupt):
        return Ending("stopped", 128 + signal.SIGINT, "by SIGINT")
    if isinstance(error, SystemExit):
        return _ending_of_exit(error.code)
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:  # the error itself may raise
        text = described_error(error)
    return Ending("failed", 1, described_error(error), text[-TRACEBACK_CHARACTERS:])


def _ending_of_exit(code: object) -> Ending:
    """The ending for `SystemExit(code)`. As in Python, the lowest 8 bits of an integer count, None
    means 0, and any other object means 1.
    """
    if code is None:
        return FINISHED
    if not issubclass(type(code), int):  # isinstance would ask the object
        return Ending("failed", 1, text_of(code))
    exit_code = int.__index__(cast(int, code)) & 0xFF
    return Ending("failed", exit_code, f"exit code {exit_code}") if exit_code else FINISHED


def end_with_process(run: Endable) -> None:
    """End `run` when the process ends, unless `forget` comes first."""
    if not _open:
        _listener.start()
    _open.append(run)


def forget(run: Endable) -> None:
    if run in _open:
        _open.remove(run)
    if not _open:
        _listener.stop()


def leave_sigterm() -> None:
    """Stop handling SIGTERM: the loop handles it, and ends its run."""
    _listener.leave_sigterm()


def go_on() -> None:
    """Forget a noticed error or exit: the process still works, so it was caught."""
    _listener.error = None


def _end_all(ending: Ending) -> None:
    for run in list(_open):
        run.end(ending)


def _end_at_exit() -> None:
    # Before Python 3.13, multiprocessing calls this while its error is being handled.
    error = sys.exc_info()[1] or _listener.error
    _end_all((ending_of(error) if error else UNKNOWN)._replace(is_provisional=True))


class _Listener:
    """Notices how the process ends while runs are open; restores everything afterwards."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._replaced: list[tuple[str, Any, Any]] = []  # name in sys, the original, ours
        self._handles_sigterm = False

    def start(self) -> None:
        self.error = None
        wrappers: dict[str, Callable[[Any], Any]] = {
            "exit": self._wrapped_exit,
            "excepthook": self._wrapped_hook,
        }
        for name, wrapped in wrappers.items():
            before = getattr(sys, name)
            ours = wrapped(before)
            self._replaced.append((name, before, ours))
            setattr(sys, name, ours)
        if multiprocessing.parent_process() is not None:  # such a process does not call atexit's
            multiprocessing.util.Finalize(None, _end_at_exit, exitpriority=0)
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.sigterm)
            self._handles_sigterm = True

    def stop(self) -> None:
        """Restore the functions that no other library has replaced since."""
        for name, before, ours in self._replaced:
            if getattr(sys, name, None) is ours:
                setattr(sys, name, before)
        self._replaced.clear()
        self.leave_sigterm()

    def leave_sigterm(self) -> None:
        if self._handles_sigterm and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self.sigterm:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._handles_sigterm = False

    def _wrapped_exit(self, before: Callable[[Any], NoReturn]) -> Callable[..., NoReturn]:
        def exit(status: Any = None, /) -> NoReturn:
            if threading.current_thread() is threading.main_thread():
                self.error = SystemExit(status)
            before(status)

        return exit

    def _wrapped_hook(self, before: Callable[..., object]) -> Callable[..., None]:
        def excepthook(
            kind: type[BaseException], error: BaseException, where: TracebackType | None
        ) -> None:
            if not hasattr(sys, "ps1"):  # an error at a prompt does not end the process
                self.error = error
            before(kind, error, where)

        return excepthook

    def sigterm(self, number: int, frame: FrameType | None) -> None:
        """End all runs, then end by the signal, as a process without a handler does."""
        _end_all(BY_SIGTERM)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def _leave_to_the_parent() -> None:
    """In a forked child: forget the runs, which are the parent's."""
    _open.clear()
    _listener.stop()


_open: list[Endable] = []
_listener = _Listener()
atexit.register(_end_at_exit)
os.register_at_fork(after_in_child=_leave_to_the_parent)
