"""Workers as processes, from their start to their end."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence

from ....shared.errors import OperantError
from ....shared.processes.python_program import python_program
from ....shared.text.harmless import one_line
from ..spec import HostedSpec
from .region import Layout, nameless_file, shared_fields
from .worker import DONE, FAILED, WHERE_SIGNAL, Task

SLICE_S = 0.5  # of waiting: time in which this process was stopped is no reason to give up
CLOSE_S = 3.0  # for a worker to close its environments
ASK_S = 1.0  # for a worker that hangs to say where
# One thread a worker for what environments compute: there are as many workers as there are cores.
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


MOST_BYTES = 65_536  # of a report

_FRAME = re.compile(r'File "(.+)", line (\d+) in (\S+)')


class WorkerError(OperantError):
    """A worker failed: its environments raised, hang, or its process is gone."""


def name_of(worker: int, envs: range) -> str:
    """A worker and its environments, as `worker 1 (environments 4 to 7)`."""
    numbers = f"environment {envs[0]}"
    if len(envs) > 1:
        numbers = f"environments {envs[0]} to {envs[-1]}"
    return f"worker {worker} ({numbers})"


def raised(name: str, env: int | None, report: int) -> WorkerError:
    """It said itself what happened, in the last line of its report."""
    lines = _text(report).strip().splitlines() or ["no reason was given"]
    where = "" if env is None else f"in environment {env} "
    return WorkerError(f"{name}: {where}{one_line(lines[-1])}")


def ended(name: str, env: int | None, code: int, report: int) -> WorkerError:
    """Its process is gone."""
    if code == -signal.SIGKILL:
        how = "was killed by SIGKILL, as the kernel does where memory runs out"
    elif code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    else:
        how = f"ended itself with exit code {code}"
    return WorkerError(f"{name} {how}{_place(env, report)}")


def hangs(name: str, env: int | None, timeout_s: float, report: int) -> WorkerError:
    """It has not answered."""
    return WorkerError(
        f"{name} has not answered for {timeout_s:g} s (workers.timeout_s){_place(env, report)}"
    )


def said_nothing(report: int) -> bool:
    return not _text(report).strip()


def _place(env: int | None, report: int) -> str:
    """Where it was, by the newest of the places that faulthandler wrote to its report."""
    where = "" if env is None else f", in environment {env}"
    places = _text(report).rpartition("most recent call first")[2]
    frame = _FRAME.search(places)
    if not frame:
        return where
    file, line, function = frame.groups()
    return f"{where} " + one_line(f"({file}, line {line}, in {function})")


def _text(report: int) -> str:
    size = os.fstat(report).st_size
    start = max(0, size - MOST_BYTES)
    return os.pread(report, MOST_BYTES, start).decode(errors="replace")


@dataclasses.dataclass(frozen=True)
class _Worker:
    """One process as its trainer has it, with the trainer's ends of its pipes."""

    name: str
    first_env: int
    process: subprocess.Popen[bytes]
    commands: int
    answers: int
    report: int


class Processes:
    """A block in each of W processes. Each waits in `read` while it has nothing to do.

    A command and an answer are a byte each, in pipes: a process that dies closes its ends, which
    wakes the other side. The bytes also order what both sides read and write in the shared memory.
    Nobody polls shared memory before sleeping: that is a little faster on idle cores, and much
    slower if another process needs one of them.
    """

    def __init__(self, spec: HostedSpec, layout: Layout, first_env: int, timeout_s: float) -> None:
        """Raises WorkerError where one cannot make its environments."""
        self._timeout_s = timeout_s
        self._workers: list[_Worker] = []
        self._hanging: list[int] = []
        self._region = nameless_file(layout.offsets()["end"])
        self.fields = shared_fields(layout, self._region)
        self.fields.rows().valid[:] = True
        life, self._life = os.pipe()
        try:
            module = importlib.import_module(spec.module)
            spec = getattr(module, "for_workers", lambda spec: spec)(spec)
            for worker in range(layout.num_workers):
                task = Task(spec, layout, worker, list(sys.path), self._region, life=life)
                first = first_env + worker * layout.num_envs
                self._workers.append(_started(task, range(first, first + layout.num_envs)))
            self.finish(range(layout.num_workers))
        except BaseException:
            self.close()
            raise
        finally:
            os.close(life)

    def start(self, command: bytes, workers: Sequence[int]) -> None:
        for worker in workers:
            # One that is dead is noticed once its answer is waited for.
            with contextlib.suppress(BrokenPipeError):
                os.write(self._workers[worker].commands, command)

    def finish(self, workers: Sequence[int]) -> None:
        """Until all have answered. Raises WorkerError for the first that failed."""
        waiting = {self._workers[worker].answers: worker for worker in workers}
        poll = select.poll()
        for answers in waiting:
            poll.register(answers, select.POLLIN)
        num_slices = math.ceil(self._timeout_s / SLICE_S) if self._timeout_s else 0
        num_waited = 0
        while waiting:
            ready = poll.poll(SLICE_S * 1000)
            for answers, _ in ready:
                answer = os.read(answers, 1)
                if answer != DONE:
                    self._fail(waiting[answers], has_said=answer == FAILED)
                poll.unregister(answers)
                del waiting[answers]
            num_waited += not ready
            if not ready:
                self._look_after(waiting.values(), num_waited >= num_slices > 0)

    def _look_after(self, workers: Iterable[int], are_late: bool) -> None:
        if are_late:
            self._hanging += workers
        for worker in workers:
            # Its children may hold its end of the pipe.
            if are_late or self._workers[worker].process.poll() is not None:
                self._fail(worker, hangs_there=are_late)

    def _fail(self, number: int, has_said: bool = False, hangs_there: bool = False) -> None:
        """Raise what is to be said of a worker."""
        worker = self._workers[number]
        current = int(self.fields.current[number, 0])
        env = worker.first_env + current if current >= 0 else None
        if hangs_there:
            _ask_where(worker)
            raise hangs(worker.name, env, self._timeout_s, worker.report)
        if has_said:  # and goes on to close its environments
            raise raised(worker.name, env, worker.report)
        try:
            code: int | None = worker.process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            code = None
        if code or (code == 0 and said_nothing(worker.report)):
            raise ended(worker.name, env, code, worker.report)
        raise raised(worker.name, env, worker.report)

    def close(self) -> None:
        """End all processes: in good order, but at once those that hang."""
        if self._life < 0:
            return
        life, self._life = self._life, -1
        for number, worker in enumerate(self._workers):
            os.close(worker.commands)
            if number in self._hanging:
                worker.process.kill()
        deadline = time.monotonic() + CLOSE_S
        for worker in self._workers:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            os.close(worker.answers)
            os.close(worker.report)
        os.close(life)  # which kills: after all are gone
        self._workers = []
        os.close(self._region)


def _started(task: Task, envs: range) -> _Worker:
    """The process of a task, which has its files by now. Raises OperantError."""
    python = python_program()
    if python is None:
        raise OperantError(
            f"{sys.executable} is not a Python interpreter: it cannot start workers; use 0 workers"
        )
    report = nameless_file(0)
    (commands, to_command), (to_read, answers) = os.pipe(), os.pipe()
    task = dataclasses.replace(task, commands=commands, answers=answers, report=report)
    inherited = (task.region, commands, answers, report, task.life)
    try:
        with tempfile.TemporaryFile() as task_file:
            pickle.dump(task, task_file)
            task_file.seek(0)
            process = subprocess.Popen(
                [python, "-P", "-m", __package__],
                stdin=task_file,
                stdout=_standard_error(),  # standard output is the trainer's
                pass_fds=inherited,
                start_new_session=True,  # Ctrl-C and a terminal that goes are for the trainer
                env={**dict.fromkeys(ONE_THREAD, "1"), **os.environ},
            )
    except OSError as error:
        for file in (to_command, to_read, report):
            os.close(file)
        raise OperantError(f"a worker cannot be started: {error}") from None
    finally:
        os.close(commands)
        os.close(answers)
    name = name_of(task.worker, envs)
    return _Worker(name, envs[0], process, to_command, to_read, report)


def _standard_error() -> int:
    try:
        os.fstat(2)
    except OSError:  # closed
        return subprocess.DEVNULL
    return 2


def _ask_where(worker: _Worker) -> None:
    """Have a worker that hangs write its place to its report; wait a moment for that."""
    before = os.fstat(worker.report).st_size
    worker.process.send_signal(WHERE_SIGNAL)
    deadline = time.monotonic() + ASK_S
    while os.fstat(worker.report).st_size == before and time.monotonic() < deadline:
        time.sleep(0.01)
