"""`operant capture`: any command as a run. The Python processes of the command send the values that
they log through other libraries, see `capture_hook`; this process publishes them.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import UsageError
from ..text.harmless import one_line
from ..text.masking import masked_arguments, masked_text
from ..text.plain_values import described_error
from .begin import Wanted, begin_run
from .capture_hook import sitecustomize
from .current_run import set_current_run
from .logged_run import LoggedRun
from .process_end import Ending, ending_of
from .tensorboard_events import EventRecorder, event_class
from .wandb_values import logged_values

POLL_S = 0.05  # how often to check whether the command has ended
PATIENCE_S = 2.0  # for the last messages of its processes
MAX_ERROR_CHARACTERS = 200
_SHELLS = ("bash", "dash", "fish", "ksh", "sh", "zsh")
_DETAILS = ("name", "project", "notes", "group", "job_type", "tags")  # that a message may set


def capture(command: Sequence[str], name: str | None, say: Callable[[str], None]) -> int:
    """Run `command` as a run of this process. Returns its exit code: 128 plus the number of the
    signal that killed it, if one did. `say` prints a line for the user.

    Raises UsageError if the command cannot be started.
    """
    if shutil.which(command[0]) is None:
        raise UsageError(f"there is no command '{command[0]}'")
    name = _name_of(command) if name is None else name
    details = {"command_line": shlex.join(masked_arguments(command))}
    run = begin_run(Wanted(name, details, console=True))
    set_current_run(run)
    if run.id:
        say(f"captured as {run.id}")
    log = _CapturedLog(run)
    try:
        with _listening(run) as (listener, address), _started(command, address) as process:
            for line in _lines(listener, lambda: process.poll() is not None):
                log.take(line)
            code = process.wait()
    except UsageError as error:
        run.end(Ending("failed", error.exit_code, str(error)))
        raise
    if not log.num_logged:
        run.log({})  # a row without numbers says how long the command took
        say(f"the run has no metrics: nothing was logged through {_LIBRARIES}")
    run.end(_ending_of_code(code, log.error))
    return code if code >= 0 else 128 - code


_LIBRARIES = "wandb, TensorBoard, Stable-Baselines3 or Lightning's CSVLogger"


class _CapturedLog:
    """Logs the messages of `sitecustomize` into one run."""

    def __init__(self, run: LoggedRun) -> None:
        self._run = run
        self._events = EventRecorder(run)
        self.num_logged = 0
        self.error = ""  # the exception that ended the newest of the processes that failed

    def take(self, line: bytes) -> None:
        """Log one message. Nothing that a process sends ends the capture."""
        try:
            self._take(json.loads(line))
        except Exception as error:
            text = f"a message of the command is not captured: {described_error(error)}"
            self._run.warn_once(type(error).__name__, text)

    def _take(self, message: dict[str, Any]) -> None:
        run = self._run
        self.num_logged += "event" in message or "log" in message
        if "event" in message:
            event = event_class().FromString(base64.b64decode(message["event"]))
            self._events.record(message["log_dir"], event)
        if "log" in message:
            values = logged_values(message["log"], Path(message.get("files", "")))
            run.log(values, message["step"], message["commit"])
        for key, value in message.get("details", {}).items():
            if value and key in _DETAILS:
                setattr(run, key, value)
        if "config" in message:
            message["config"].pop("_wandb", None)  # about the library
            run.config.update(message["config"])
        if "summary" in message:
            run.summary.update(logged_values(message["summary"], Path()))
        if "metric" in message:
            run.define_metric(message["metric"], message["step_metric"])
        if "error" in message:
            self.error = one_line(masked_text(message["error"]), MAX_ERROR_CHARACTERS)
        if "alert" in message:
            run.alert(message["alert"], message["text"], message["level"])
        if "warning" in message:
            run.warn_once(message["warning"], message["warning"])


def _name_of(command: Sequence[str]) -> str:
    """The name of the command's script or module, else of its program."""
    script = next((argument for argument in command if argument.endswith(".py")), None)
    if script is None and "-m" in command[:-1]:
        script = command[command.index("-m") + 1].rpartition(".")[2]
    return Path(script or command[0]).stem


def _ending_of_code(code: int, error: str) -> Ending:
    """How the run ended, by the return code of `Popen`: minus the number of a signal that killed
    the process. `error` is an exception that may have ended it.
    """
    if code == 1 and error:  # Python's exit code after an exception
        return Ending("failed", code, error)
    if code >= 0:
        return ending_of(SystemExit(code))
    name = signal.Signals(-code).name if -code in list(signal.Signals) else f"signal {-code}"
    is_stop = -code in (signal.SIGINT, signal.SIGTERM)
    return Ending("stopped" if is_stop else "failed", 128 - code, f"by {name}")


@contextlib.contextmanager
def _listening(run: LoggedRun) -> Iterator[tuple[socket.socket, str]]:
    """A socket in the run's folder, and its path. The socket is in a private temporary folder if
    the run has no folder, the path is too long, or the file system has no sockets.
    """
    with (
        tempfile.TemporaryDirectory(prefix="operant-capture-") as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        address = os.path.join(run.dir if run.id else folder, "capture.socket")
        try:
            try:
                listener.bind(address)
            except OSError:
                address = os.path.join(folder, "socket")
                listener.bind(address)
            listener.listen()
        except OSError as error:
            raise UsageError(f"cannot listen at {address}: {error}; set TMPDIR") from None
        try:
            yield listener, address
        finally:
            with contextlib.suppress(OSError):
                os.unlink(address)


@contextlib.contextmanager
def _started(command: Sequence[str], address: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command's process. Signals that ask this process to stop are passed on to it; Ctrl-C in a
    terminal reaches both, and ends the command alone.
    """
    hook = os.path.dirname(os.path.abspath(sitecustomize.__file__))
    paths = [hook, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {sitecustomize.ADDRESS: address, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        process = subprocess.Popen(command, env={**os.environ, **environment})
    except OSError as error:
        raise UsageError(f"cannot start {command[0]}: {error.strerror}") from None

    def pass_on(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            return
        if Path(command[0]).name in _SHELLS:  # they end without their children
            for child in _children(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, number)
        process.send_signal(number)

    former = {
        number: signal.signal(number, pass_on)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield process
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _children(process_id: int) -> list[int]:
    """The children of a process; empty on systems other than Linux."""
    try:
        children = Path(f"/proc/{process_id}/task/{process_id}/children").read_text()
    except OSError:
        return []
    return [int(pid) for pid in children.split()]


def _lines(listener: socket.socket, is_over: Callable[[], bool]) -> Iterator[bytes]:
    """The lines that processes send to `listener`, until `is_over` and all sent lines are read."""
    deadline = None
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while deadline is None or time.monotonic() < deadline:
            if deadline is None and is_over():
                deadline = time.monotonic() + PATIENCE_S
            ready = selector.select(POLL_S if deadline is None else 0)
            if deadline and not ready:
                return
            for key, _ in ready:
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    selector.register(connection, selectors.EVENT_READ, bytearray())
                else:
                    yield from _received(selector, key)


def _received(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> Iterator[bytes]:
    """The complete lines of one connection; its `data` keeps the beginning of the next line."""
    connection, waiting = key.fileobj, key.data
    assert isinstance(connection, socket.socket)
    try:
        data = connection.recv(1 << 16)
    except OSError:
        data = b""
    if b"\n" in data:
        *lines, rest = (waiting + data).split(b"\n")
        waiting[:] = rest
        yield from lines
    else:
        waiting += data
    if not data or len(waiting) > sitecustomize.MAX_MESSAGE_BYTES:
        if waiting:
            yield b'{"warning": "a message was cut off: it is not captured"}'
        selector.unregister(connection)
        connection.close()
