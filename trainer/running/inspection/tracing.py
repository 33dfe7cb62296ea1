"""Traces of iterations: what ran when, for Perfetto and chrome://tracing.

One that is asked for comes once as the iteration runs anyway, and on a GPU once more with the host
waiting after each phase: the first shows what overlaps, the second what each phase takes alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from ....shared.runs.owners import make_private_folder
from ....shared.runs.run_folder import TRACE_ENDING
from ....shared.runs.small_file import create_anew, replacing
from ....shared.runs.tracing import failed_notice, written_notice
from ...experiment.experiment import Executor

TRACES_KEPT = 6
WARM_AT = 2  # iterations after which all is compiled and captured


class Tracer:
    """Traces iterations of an `executor` into `folder`, whose newest `TRACES_KEPT` files stay."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        self._executor, self._folder = executor, folder
        self._kinds: list[str] = []  # still to be traced
        self._names: list[str] = []  # of the files there are of what was asked for
        self._first = executor.num_started
        self._profiler: Any = None  # of the iteration that is traced now
        self._name, self._former_span = "", executor.span

    def ask(self) -> None:
        """Have the next iterations traced, once everything in them is compiled."""
        if not self._kinds:
            self._kinds = ["", "-synchronised"] if has_gpu() else [""]

    @property
    def is_tracing(self) -> bool:
        """Whether a trace is under way."""
        return self._profiler is not None

    def begin(self) -> None:
        """Trace the next iteration if that was asked for and nothing in it is compiled."""
        if not self._kinds or self._executor.num_started - self._first < WARM_AT:
            return
        kind = self._kinds.pop(0)
        self._name = f"iteration-{self._executor.num_started + 1:09d}{kind}{TRACE_ENDING}"
        activities = [ProfilerActivity.CPU]
        if has_gpu():
            activities.append(ProfilerActivity.CUDA)
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # it would say on stderr that it begins
        profiler: Any = profile(
            activities=activities, record_shapes=True, experimental_config=every_thread()
        )
        profiler.start()
        self._profiler = profiler
        self._former_span, self._executor.span = self._executor.span, span_of(bool(kind))

    def stop(self) -> Any:
        """Stop the trace under way, if there is one; returns what has it."""
        profiler, self._profiler = self._profiler, None
        if profiler:
            if has_gpu():
                torch.cuda.synchronize()  # what was started belongs to it
            profiler.stop()
            self._executor.span = self._former_span
        return profiler

    def finish(self) -> str:
        """Write the trace under way. Returns a notice once all that were asked for are written, or
        if one cannot be; else an empty text.
        """
        profiler, name = self.stop(), self._name
        if not profiler:
            return ""
        try:
            make_private_folder(self._folder, parents=False)
            with replacing(self._folder / name) as building:
                os.close(create_anew(building))
                profiler.export_chrome_trace(str(building))
            delete_old(self._folder, f"*{TRACE_ENDING}", TRACES_KEPT)
        except (OSError, RuntimeError) as error:
            self._kinds, self._names = [], []
            reason = str(error).partition("\n")[0] or type(error).__name__
            return failed_notice(reason)
        self._names.append(name)
        if self._kinds:
            return ""
        names, self._names = self._names, []
        return written_notice(names)


def every_thread() -> Any:
    """Has the profiler see the threads that share pieces of work as well; None where this PyTorch
    cannot.
    """
    try:
        return torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except (AttributeError, TypeError):
        return None


def span_of(is_synchronised: bool) -> Callable[[str], Any]:
    """Phases by name as spans of a trace; with `is_synchronised` each waits for the GPU's work."""

    @contextmanager
    def span(name: str) -> Iterator[None]:
        with record_function(name):
            yield
            if is_synchronised:
                torch.cuda.synchronize()

    return span


def delete_old(folder: Path, pattern: str, keep: int) -> None:
    """Leave the newest `keep` of the files in `folder`, by name."""
    for path in sorted(folder.glob(pattern))[:-keep]:
        path.unlink(missing_ok=True)


def has_gpu() -> bool:
    """Whether one is in use."""
    cuda: Any = torch.cuda
    return bool(cuda.is_available() and cuda.is_initialized())
