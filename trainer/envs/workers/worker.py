"""What runs in a worker: the environments of one block, stepped when the trainer says so.

Started as `python -m operant.trainer.envs.workers`, with its `Task` on standard input. A byte from
the trainer is a command; the answer is a byte as well. A worker ends when the trainer closes its
pipe, by will or by dying, and leaves the signals that stop a trainer to the trainer.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import io
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from ....shared.errors import OperantError
from ....shared.processes.life_pipe import killed_when_closed
from ....shared.text.harmless import one_line
from ..spec import HostedSpec
from .block import Block
from .region import Layout, shared_fields

RESET, STEP = b"r", b"s"  # the commands
DONE, FAILED = b".", b"!"  # the answers
WHERE_SIGNAL = signal.SIGUSR1  # asks a worker that hangs where it is
LAST_WORDS_S = 2.0  # where the kernel does not end a worker whose trainer is gone


@dataclass(frozen=True)
class Task:
    """What a worker gets at its start; files are open descriptors that it inherits."""

    spec: HostedSpec
    layout: Layout
    worker: int
    import_path: list[str]
    region: int  # the shared memory
    life: int  # a pipe that ends with the trainer
    commands: int = -1  # a pipe, to be read
    answers: int = -1  # a pipe, to be written
    report: int = -1  # a file for what went wrong


def main() -> None:
    task: Task = pickle.load(sys.stdin.buffer)
    sys.path[:] = task.import_path
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # not ignored: programs started here would be, too
    faulthandler.enable(task.report, all_threads=False)
    faulthandler.register(WHERE_SIGNAL, task.report, all_threads=False)
    end_with_the_trainer(task)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a worker may be killed
    with contextlib.ExitStack() as closes:
        try:
            serve(task, closes)
        except BaseException as error:  # an environment may call sys.exit
            os.write(task.report, b"\n" + what_happened(error).encode())
            with contextlib.suppress(OSError):
                os.write(task.answers, FAILED)
        with contextlib.suppress(BaseException):
            closes.close()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)  # whatever threads environments have left behind


def serve(task: Task, closes: contextlib.ExitStack) -> None:
    """Make the environments, which `closes` closes, and obey until the trainer wants no more."""
    fields = shared_fields(task.layout, task.region)
    arrays, counters = fields.of_worker(task.worker)
    envs = importlib.import_module(task.spec.module).make(task.spec, task.layout.num_envs, counters)
    block = Block(envs, task.layout.num_agents, arrays, counters)
    closes.callback(block.close)
    seeds = fields.seeds[task.worker]
    ways: dict[bytes, Callable[[], None]] = {RESET: lambda: block.reset(seeds), STEP: block.step}
    os.write(task.answers, DONE)
    while command := os.read(task.commands, 1):
        ways[command]()
        os.write(task.answers, DONE)


def end_with_the_trainer(task: Task) -> None:
    """Also where an environment hangs: by a thread, and on Linux by the kernel, at once and also
    where an environment never lets go of the interpreter.
    """
    for file in (task.region, task.commands, task.answers, task.report, task.life):
        os.set_inheritable(file, False)
    killed_when_closed(task.life)

    def watch() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {WHERE_SIGNAL})
        while os.read(task.life, 1):
            pass
        threading.Event().wait(LAST_WORDS_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def what_happened(error: BaseException) -> str:
    """An error in one line, with the place where it was raised unless it is operant's own."""
    if isinstance(error, OperantError):
        return one_line(str(error), 600)
    said = traceback.format_exception_only(error)[-1]
    frames = traceback.extract_tb(error.__traceback__)
    place = frames[-1] if frames else None
    where = f" ({place.filename}, line {place.lineno}, in {place.name})" if place else ""
    return one_line(said, 600) + where
