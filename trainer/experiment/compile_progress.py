"""How many of a run's loops have machine code, and about how long compiling the others takes.

The seconds of each loop are kept beside its machine code, for the next time that it is compiled on
this machine: after an update of operant, say.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..machine.stopwatch import Stopwatch
from .precompiling import has_machine_code, is_ready

if TYPE_CHECKING:
    from .experiment import Experiment

# Seconds of loops that were never compiled on this machine, by the beginnings of their names;
# measured on two cores, one of which compiles what PPO learns with meanwhile.
USUAL_S = {"collect_template": 8.0, "learn_template": 2.0, "reset_all": 1.5, "step_all": 1.5}
OTHER_S = 0.5  # the weight of a loop whose seconds are not known, beside others
COMPILED_S = 0.3  # what is ready sooner was loaded from the disk
# This machine's speed, relative to the expected seconds, once loops of so many were compiled.
KNOWN_AFTER_S, SLOWEST, FASTEST = 5.0, 8.0, 0.25


class Compiled(NamedTuple):
    """`done` of `total` `unit`s, as `MetricsWriter.phase` takes them; `left_s` is None where it is
    not known.
    """

    done: int
    total: int
    unit: str
    left_s: float | None


class CompileProgress:
    """Watches loops while they are called for the first time, one after the other."""

    def __init__(self, loops: Sequence[Any], now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._changed_s = now, now()
        self._loops = loops
        known_s = {id(loop): expected_s(loop) for loop in loops}
        self._unknown = {key for key, seconds in known_s.items() if seconds is None}
        self._expected_s = {key: seconds or OTHER_S for key, seconds in known_s.items()}
        self._was_on_disk = {id(loop) for loop in loops if has_machine_code(loop)}
        self._ready = {id(loop) for loop in loops if is_ready(loop)}
        self._taken_s = self._expected_of_taken_s = 0.0

    @property
    def is_over(self) -> bool:
        return len(self._ready) == len(self._loops)

    def look(self) -> Compiled:
        """How far it is now. Loops that another process compiles count as soon as they are on the
        disk.
        """
        self._note_ready()
        waiting = [loop for loop in self._loops if id(loop) not in self._ready]
        missing = [loop for loop in waiting if not has_machine_code(loop)]
        compiled_elsewhere = {id(loop) for loop in waiting} - {id(loop) for loop in missing}
        done = len(self._ready) + len(compiled_elsewhere - self._was_on_disk)
        return Compiled(done, len(self._loops), "loops", self._left_s(missing))

    def _note_ready(self) -> None:
        now_s = self._now()
        new = [loop for loop in self._loops if id(loop) not in self._ready and is_ready(loop)]
        if not new:
            return
        self._ready |= {id(loop) for loop in new}
        seconds, self._changed_s = now_s - self._changed_s, now_s
        compiled = [loop for loop in new if id(loop) not in self._was_on_disk]
        expected_s = sum(self._expected_s[id(loop)] for loop in compiled)
        if seconds < COMPILED_S or not compiled:
            return
        self._taken_s += seconds
        self._expected_of_taken_s += expected_s
        for loop in compiled:
            remember(loop, seconds * self._expected_s[id(loop)] / expected_s)

    def _left_s(self, missing: Sequence[Any]) -> float | None:
        """The rest of the loop under way, and all those after it. None once that one is
        overdue, and where nothing is known of one of them.
        """
        if not missing or any(id(loop) in self._unknown for loop in missing):
            return None
        speed = 1.0
        if self._expected_of_taken_s >= KNOWN_AFTER_S:
            speed = min(SLOWEST, max(FASTEST, self._taken_s / self._expected_of_taken_s))
        first, *later = (speed * self._expected_s[id(loop)] for loop in missing)
        rest_s = first - (self._now() - self._changed_s)
        return rest_s + sum(later) if rest_s > 0 else None


class CompileWatch:
    """Shows how far compiling is, in a run that compiles in its first iteration from here on."""

    def __init__(self, experiment: Experiment, stopwatch: Stopwatch) -> None:
        self._experiment, self._stopwatch = experiment, stopwatch
        self._first, self._progress = experiment.iteration, CompileProgress(experiment.loops)
        stopwatch.is_compiling = self.is_under_way
        if self.is_under_way():
            stopwatch.said("compiling")
            self.tick()

    def is_under_way(self) -> bool:
        """Whether the first iteration still waits for the machine code of its loops."""
        is_first = self._experiment.iteration == self._first
        return is_first and not all(map(is_ready, self._experiment.loops))

    def tick(self) -> None:
        """Show how far compiling is now; afterwards, note once how long the last loop took."""
        if self.is_under_way():
            self._stopwatch.say_progress(*self._progress.look())
        elif not self._progress.is_over:
            self._progress.look()


def expected_s(loop: Any) -> float | None:
    """Seconds that compiling `loop` took the last time on this machine, or usually takes; None
    where neither is known.
    """
    path, name = seconds_file(loop)
    with contextlib.suppress(OSError, ValueError, TypeError):
        seconds = float((path or Path()).read_text())
        if 0 < seconds < 3600:
            return seconds
    usual = (seconds for start, seconds in USUAL_S.items() if name.startswith(start))
    return next(usual, None)


def remember(loop: Any, seconds: float) -> None:
    """Keep how long compiling `loop` took, if the disk takes it."""
    path, _ = seconds_file(loop)
    if path:
        with contextlib.suppress(OSError):
            path.write_text(f"{seconds:.1f}\n")


def seconds_file(loop: Any) -> tuple[Path | None, str]:
    """Where the seconds of `loop` are kept, and its name, both the same for all versions of its
    sources. None where its machine code is not kept.
    """
    function, stats = getattr(loop, "py_func", None), getattr(loop, "stats", None)
    name = getattr(function, "__qualname__", "")
    folder = getattr(stats, "cache_path", None)
    return (Path(folder) / f"{name}.seconds" if folder and name else None), name
