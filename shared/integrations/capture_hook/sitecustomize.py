"""Imported by Python at its start in all processes below `operant capture`. Sends to the capturing
process the values that they log through wandb, TensorBoard, Stable-Baselines3 and Lightning, and
the exception that ends them.

Uses the standard library alone: the Python that runs it need not have operant installed.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

ADDRESS = "OPERANT_CAPTURE"  # in the environment: the path of the socket that takes messages
PATIENCE_S = 1.0  # for a capturing process that takes no messages
AGAIN_S = 5.0  # until the next attempt
MAX_MESSAGE_BYTES = 64 << 20


class Sender:
    """Sends messages as lines of JSON. Never raises, and never waits longer than PATIENCE_S. It
    counts the messages that it cannot send, and reports the number once it can send again. It
    stops for good once the capturing process is gone: a later listener is another one.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._num_lost = 0
        self._again_s = 0.0
        self._is_gone = False
        self._connection: Any = None
        self._forget_connection()
        # Two processes that share a connection would mix their lines.
        os.register_at_fork(after_in_child=self._forget_connection)

    def _forget_connection(self) -> None:
        self._connection = None
        self._lock = threading.RLock()  # a signal's handler may log in the middle of a send

    def send(self, **message: Any) -> None:
        # Imported here, because every Python below `operant capture` imports this module.
        import json
        import time

        if self._is_gone:
            return
        try:
            data = json.dumps(message, default=_plain).encode() + b"\n"
        except Exception as error:
            data = json.dumps({"warning": repr(error)}).encode() + b"\n"
        if len(data) > MAX_MESSAGE_BYTES:
            text = f"a message of {len(data)} bytes is too large: it is not captured"
            data = json.dumps({"warning": text}).encode() + b"\n"
        with self._lock:
            if self._num_lost and time.monotonic() < self._again_s:
                self._num_lost += 1
                return
            try:
                if self._num_lost:
                    text = f"{self._num_lost} messages could not be sent: they are not captured"
                    data = json.dumps({"warning": text}).encode() + b"\n" + data
                self._connected().sendall(data)
                self._num_lost = 0
            except OSError as error:
                self._is_gone = isinstance(error, _GONE)
                if self._connection:
                    self._connection.close()
                self._connection = None
                self._num_lost += 1
                self._again_s = time.monotonic() + AGAIN_S

    def _connected(self) -> Any:
        import socket

        if self._connection is None:
            self._connection = socket.socket(socket.AF_UNIX)
            self._connection.settimeout(PATIENCE_S)
            self._connection.connect(self._address)
            if not _is_own(self._connection):
                raise PermissionError(f"{self._address} is another user's")
        return self._connection


# The process that listened there has ended, or another user listens there.
_GONE = (ConnectionError, FileNotFoundError, NotADirectoryError, PermissionError)


def _is_own(connection: Any) -> bool:
    """Whether a process of this user is at the other end."""
    import socket
    import struct

    if hasattr(socket, "SO_PEERCRED"):
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return bool(struct.unpack("iII", peer)[1] == os.geteuid())
    peer = connection.getsockopt(0, 1, 8)  # macOS: SOL_LOCAL, LOCAL_PEERCRED
    return bool(struct.unpack("II", peer)[1] == os.geteuid())


class _Finder:
    """Calls `follow` with the module `name` once it is imported, before others see it."""

    def __init__(self, name: str, follow: Callable[[Any], None]) -> None:
        self.name, self.follow = name, follow

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                execute(module)
                self.follow(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def when_imported(name: str, follow: Callable[[Any], None]) -> None:
    """Call `follow` with the module `name`: now, or once it is imported."""
    if name in sys.modules:
        follow(sys.modules[name])
        return
    waiting = [vars(finder) for finder in sys.meta_path if isinstance(finder, _Finder)]
    if {"name": name, "follow": follow} not in waiting:
        sys.meta_path.insert(0, _Finder(name, follow))


def _plain(value: Any) -> Any:
    """Numbers and lists for an array or a tensor, text for anything else."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _send_warning(text: str) -> None:
    _sender.send(warning=text)


def observe(
    module: Any,
    class_name: str,
    name: str,
    observer: Callable[..., Any],
    warn: Callable[[str], None] = _send_warning,
) -> None:
    """Call `observer` with the arguments of every call of a class's method `name`, before the call.
    Its errors go to `warn`.
    """
    owner = getattr(module, class_name, None)
    original = getattr(owner, name, None)
    if original is None:  # another version of the library
        return

    @functools.wraps(original)
    def method(*arguments: Any, **keywords: Any) -> Any:
        try:
            observer(*arguments, **keywords)
        except Exception as error:  # the script goes on as it would without operant
            warn(f"{name}() is not captured: {error!r}")
        return original(*arguments, **keywords)

    setattr(owner, name, method)


def _follow_events(module: Any) -> None:
    """TensorBoard's writer of events, or tensorboardX's."""
    import base64

    def add_event(writer: Any, event: Any, *_: Any, **__: Any) -> None:
        if event.HasField("summary"):
            data = base64.b64encode(event.SerializeToString()).decode()
            _sender.send(event=data, log_dir=str(writer.get_logdir()))

    observe(module, "EventFileWriter", "add_event", add_event)


def _follow_stable_baselines3(module: Any) -> None:
    def dump(logger: Any, step: int = 0) -> None:
        formats = {type(output).__name__ for output in logger.output_formats}
        # TensorBoard's writer gets the same values, and is followed itself.
        if logger.level != module.DISABLED and "TensorBoardOutputFormat" not in formats:
            values = logger.name_to_value
            numbers = {key: v for key, v in values.items() if hasattr(v, "__float__")}
            _sender.send(log=numbers, step=step, commit=True)

    observe(module, "Logger", "dump", dump)


def _follow_lightning_metrics(module: Any) -> None:
    def log_metrics(writer: Any, metrics_dict: Any, step: int | None = None) -> None:
        _sender.send(log=metrics_dict, step=step, commit=True)

    observe(module, "_ExperimentWriter", "log_metrics", log_metrics)


def _follow_lightning_hyperparameters(module: Any) -> None:
    def log_hparams(_: Any, params: Any) -> None:
        _sender.send(config=params)

    observe(module, "ExperimentWriter", "log_hparams", log_hparams)


def _follow_wandb(module: Any) -> None:
    """wandb sends its records to its service through this interface, with the values as JSON."""
    import json

    def values(items: Any) -> dict[str, Any]:
        return {i.key or "/".join(i.nested_key): json.loads(i.value_json) for i in items}

    def history(_: Any, record: Any) -> None:
        run = getattr(sys.modules.get("wandb"), "run", None)
        step = record.step.num if record.HasField("step") else None
        commit = record.action.flush if record.HasField("action") else None
        files = str(getattr(run, "dir", ""))
        _sender.send(log=values(record.item), step=step, commit=commit, files=files)

    def run(_: Any, record: Any) -> None:
        details = {"name": record.display_name, "project": record.project, "notes": record.notes}
        details.update(group=record.run_group, job_type=record.job_type, tags=list(record.tags))
        _sender.send(details=details, config=values(record.config.update))

    def metric(_: Any, record: Any) -> None:
        name = record.name or record.glob_name
        _sender.send(metric=name, step_metric=record.step_metric)

    def alert(_: Any, record: Any) -> None:
        _sender.send(alert=record.title, text=record.text, level=record.level)

    methods = {
        "_publish_partial_history": history,
        "_publish_config": lambda _, record: _sender.send(config=values(record.update)),
        "_publish_summary": lambda _, record: _sender.send(summary=values(record.update)),
        "_deliver_run": run,
        "_publish_metric": metric,
        "_publish_alert": alert,
    }
    for name, observer in methods.items():
        observe(module, "InterfaceShared", name, observer)


def _send_uncaught_exceptions() -> None:
    original = sys.excepthook

    def excepthook(kind: Any, value: Any, traceback: Any) -> None:
        try:
            _sender.send(error=f"{kind.__name__}: {value}")
        except Exception:  # its text cannot be made
            _sender.send(error=kind.__name__)
        original(kind, value, traceback)

    sys.excepthook = excepthook


_FOLLOWED = {
    "tensorboard.summary.writer.event_file_writer": _follow_events,
    "tensorboardX.event_file_writer": _follow_events,
    "stable_baselines3.common.logger": _follow_stable_baselines3,
    "lightning.fabric.loggers.csv_logs": _follow_lightning_metrics,
    "lightning_fabric.loggers.csv_logs": _follow_lightning_metrics,
    "lightning.pytorch.loggers.csv_logs": _follow_lightning_hyperparameters,
    "pytorch_lightning.loggers.csv_logs": _follow_lightning_hyperparameters,
    "wandb.sdk.interface.interface_shared": _follow_wandb,
}


def _run_hidden_sitecustomize() -> None:
    """Import the `sitecustomize` that Python would have imported without this one."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":  # else operant itself imports `when_imported`
    if ADDRESS in os.environ:
        _sender = Sender(os.environ[ADDRESS])
        _send_uncaught_exceptions()
        for _name, _follow in _FOLLOWED.items():
            when_imported(_name, _follow)
    _run_hidden_sitecustomize()
