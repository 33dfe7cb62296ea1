"""How the process of a loop ends, so that its runs can say it: in good order, by an error, by a
signal. Python tells none of this at exit, so `sys.exit` and its like, `sys.excepthook` and, where
nobody handles it, SIGTERM are listened to while runs are open; what was heard counts only if the
program did leave by it, see `main_frame`.
"""

from __future__ import annotations

import atexit
import builtins
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

from ..outcome import State
from ..plain_values import described_error, text_of
from .main_frame import MainFrame

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
BY_UNKNOWN_EXIT = Ending("finished", 0, "left by SystemExit; Python does not tell its exit code")
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
    _listener.note_shown()


def _end_all(ending: Ending) -> None:
    for run in list(_open):
        run.end(ending)


def _end_at_exit() -> None:
    _end_all(_listener.ending())


class _Listener:
    """Listens while there are open runs, and leaves everything as it was afterwards."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._left_child: BaseException | None = None  # by which a process of multiprocessing ended
        self._shown: object = None  # the newest error that Python had shown before
        self._main: MainFrame | None = None
        self._replaced: list[tuple[Any, str, Any, Any]] = []  # where, name, what was there, ours
        self._handles_sigterm = False

    def start(self) -> None:
        self.error, self._shown, self._main = None, _newest_shown(), MainFrame.find()
        self._left_child = None
        self._replace(sys, "exit", self._noting)
        self._replace(sys, "excepthook", self._noting_error)
        self._replace(os, "_exit", self._ending_all)
        for name in ("exit", "quit"):
            self._replace(builtins, name, lambda before: _Quitter(self, before))
        if multiprocessing.parent_process() is not None:
            # A process of multiprocessing leaves by its finalizers, not by what atexit knows; since
            # Python 3.13 they come after its error was shown, which is done so.
            multiprocessing.util.Finalize(None, _end_at_exit, exitpriority=0)
            self._replace(traceback, "print_exc", self._noting_shown)
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.sigterm)
            self._handles_sigterm = True

    def stop(self) -> None:
        """Only what nobody has replaced or wrapped since is put back."""
        for where, name, before, ours in self._replaced:
            if getattr(where, name, None) == ours:
                setattr(where, name, before)
        self._replaced.clear()
        self._main = None
        self.leave_sigterm()

    def _replace(self, where: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Put what `make` makes of it in its place; whoever keeps that may call it at any time."""
        before = getattr(where, name, None)
        if before is not None:  # Python may run without `site`
            ours = make(before)
            self._replaced.append((where, name, before, ours))
            setattr(where, name, ours)

    def ending(self) -> Ending:
        """How the process ends, asked at its exit."""
        # A process of multiprocessing comes here with its error in flight, or since Python 3.13
        # with its exit code.
        if error := sys.exc_info()[1] or self._left_child:
            return ending_of(error)
        code = _code_of_child()
        if code is not None:
            noted = ending_of(self.error)
            return noted if noted.exit_code == code else _ending_of_exit(code)
        was_left_by_error = self._main.was_left_by_error() if self._main else None
        if was_left_by_error is False:  # what was raised or said before was caught
            return FINISHED
        shown = _newest_shown()
        if isinstance(shown, BaseException) and shown is not self._shown:
            return ending_of(shown)  # whoever has replaced `sys.excepthook`
        if self.error is None and was_left_by_error:
            return BY_UNKNOWN_EXIT
        return ending_of(self.error)

    def leave_sigterm(self) -> None:
        if self._handles_sigterm and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self.sigterm:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._handles_sigterm = False

    def note_shown(self) -> None:
        """What Python has shown by now is not what ends the process: that still works."""
        self._shown = _newest_shown()

    def note_exit(self, status: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self.error = SystemExit(status)

    def _noting(self, before: Callable[[Any], NoReturn]) -> Callable[..., NoReturn]:
        def exit(status: Any = None) -> NoReturn:
            self.note_exit(status)
            before(status)

        return exit

    def _ending_all(self, before: Callable[[Any], NoReturn]) -> Callable[[Any], NoReturn]:
        def _exit(status: Any) -> NoReturn:
            """Nothing more of Python runs after this: the last word is said now."""
            _end_all(_ending_of_exit(status))
            before(status)

        return _exit

    def _noting_error(self, before: Callable[..., object]) -> Callable[..., None]:
        def excepthook(
            kind: type[BaseException], error: BaseException, where: TracebackType | None
        ) -> None:
            if not hasattr(sys, "ps1"):  # at a prompt, an error ends nothing
                self.error = error
            before(kind, error, where)

        return excepthook

    def _noting_shown(self, before: Callable[..., None]) -> Callable[..., None]:
        def print_exc(*arguments: Any, **keywords: Any) -> None:
            error = sys.exc_info()[1]
            trace = error.__traceback__ if error else None
            if trace and trace.tb_frame.f_globals.get("__name__") == "multiprocessing.process":
                self._left_child = error  # it came through all of the program
            before(*arguments, **keywords)

        return print_exc

    def sigterm(self, number: int, frame: FrameType | None) -> None:
        """Say why, then die of the signal as a process without a handler does."""
        _end_all(BY_SIGTERM)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


class _Quitter:
    """`exit` and `quit` as people call them in scripts; they raise SystemExit by themselves."""

    def __init__(self, listener: _Listener, before: Any) -> None:
        self._listener, self._before = listener, before

    def __call__(self, code: Any = None) -> NoReturn:
        self._listener.note_exit(code)
        self._before(code)
        raise SystemExit(code)  # whoever had replaced it came back

    def __repr__(self) -> str:
        return repr(self._before)


def _newest_shown() -> object:
    """The newest error that Python showed as one that nobody caught."""
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _code_of_child() -> int | None:
    """The exit code with which a process that multiprocessing has forked is about to leave; None
    where nothing tells it, as everywhere before Python 3.13.
    """
    frame: FrameType | None = sys._getframe()
    while frame:
        module = frame.f_globals.get("__name__")
        if module == "multiprocessing.process":  # still at work; the code is not known yet
            return None
        if module in ("multiprocessing.popen_fork", "multiprocessing.forkserver"):
            code = frame.f_locals.get("code")
            return code if isinstance(code, int) else None
        frame = frame.f_back
    return None


def _leave_to_the_parent() -> None:
    """A forked child has no part in its parent's runs."""
    _open.clear()
    _listener.stop()


_listener = _Listener()
atexit.register(_end_at_exit)
os.register_at_fork(after_in_child=_leave_to_the_parent)
