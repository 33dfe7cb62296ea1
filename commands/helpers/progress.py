"""Progress of a run in the foreground: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from ...monitor.render.formatting import (
    SHOWN_PHASES,
    UNKNOWN,
    format_count,
    format_left,
    format_percent,
    format_phase,
    format_phase_time,
    format_rate,
    format_value,
)
from ...shared.text.harmless import harmless

if TYPE_CHECKING:
    from ...trainer.running.process import Progress

LINE_EVERY_S = 2.0
SAY_AGAIN_S = 10.0  # what has not changed but for its time, in a file


class LastingStream:
    """A stream that training may write to: what its terminal or disk does not take is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def progress_report(run_id: str, to_stderr: bool) -> Iterator[Progress]:
    """The progress of a run on standard output or error: a bar on a terminal, else lines."""
    stream = cast(TextIO, LastingStream(sys.stderr if to_stderr else sys.stdout))
    if stream.isatty():
        with _bar(run_id, stream) as report:
            yield report
    else:
        print(harmless(run_id), file=stream, flush=True)
        yield PlainProgress(stream)


def newest_return(values: Mapping[str, float], former: float) -> float:
    """The return of episodes that ended last; where none has yet, that of an evaluation."""
    found = values.get("episode/return", math.nan)
    if not math.isnan(found):
        return found
    evaluated = values.get("evaluation/return", math.nan)
    return evaluated if math.isnan(former) else former


class PhaseWords:
    """The phase of a run in words. Its time advances whenever it is shown, since a run that
    compiles may say nothing for seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._name = now, ""
        self._since_s = self._set_s = 0.0
        self._left_s: float | None = None
        self.without_time = ""

    def set(
        self, name: str, done: int | None, total: int | None, unit: str, left_s: float | None
    ) -> None:
        self._set_s, self._left_s = self._now(), left_s
        if name != self._name:
            self._name, self._since_s = name, self._set_s
        self.without_time = format_phase(name, done, total, unit)

    def __str__(self) -> str:
        now_s = self._now()
        left_s = None if self._left_s is None else self._left_s - (now_s - self._set_s)
        duration = format_phase_time(now_s - self._since_s, left_s)
        return f"{self.without_time}, {duration}" if duration else self.without_time


class TimeLeft:
    """Counts down the time left of the newest publish, in words; empty once it is over."""

    def __init__(self, left_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._end_s = now, now() + left_s

    def __str__(self) -> str:
        return format_left(self._end_s - self._now())


class PlainProgress:
    """`24.6%  491.5k env steps  132k/s  return 187.2  11s left`, not more often than every 2 s; in
    between what takes so long, as `compiling 1 of 5 loops, 31s, about 20s left`, and every 10 s
    where nothing but the time changes.
    """

    def __init__(
        self, stream: TextIO, now: Callable[[], float] = time.monotonic, prefix: str = " " * 8
    ) -> None:
        """Lines about phases begin with `prefix`."""
        self._stream, self._now, self._prefix = LastingStream(stream), now, prefix
        self._line_at = -LINE_EVERY_S
        self._phase = PhaseWords(now)
        self._said = ""
        self._return = self._rate = math.nan
        self._is_last = False

    def __call__(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        self._return = newest_return(values, self._return)
        self._rate = values.get("speed/env_steps_per_s", self._rate)
        self._said = ""
        was_last, self._is_last = self._is_last, values["progress/fraction"] >= 1
        is_due = self._now() - self._line_at >= LINE_EVERY_S or self._is_last
        if was_last or not is_due:
            return
        parts = [
            f"{format_percent(values['progress/fraction']):>6}",
            f"{format_count(env_steps)} env steps",
            format_rate(self._rate),
            f"return {UNKNOWN if math.isnan(self._return) else format_value(self._return)}",
        ]
        left = "" if self._is_last else format_left(values.get("progress/eta_s"))
        self._print("  ".join(filter(None, [*parts, left])))

    def phase(
        self, name: str, done: int | None, total: int | None, unit: str, left_s: float | None
    ) -> None:
        self._phase.set(name, done, total, unit, left_s)
        since_s = self._now() - self._line_at
        is_new = self._phase.without_time != self._said
        if name in SHOWN_PHASES and since_s >= (LINE_EVERY_S if is_new else SAY_AGAIN_S):
            self._said = self._phase.without_time
            self._print(f"{self._prefix}{self._phase}")

    def _print(self, line: str) -> None:
        self._line_at = self._now()
        self._stream.write(f"{line}\n")
        self._stream.flush()


@contextmanager
def _bar(run_id: str, stream: TextIO) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Task, TextColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Last(TextColumn):
        """Drawn anew by the bar's own thread, so that the time moves."""

        def render(self, task: Task) -> Text:
            return Text(str(task.fields["last"]))

    columns = (
        TextColumn("{task.percentage:>5.1f}%"),
        BarColumn(),
        TextColumn("{task.fields[rate]}  return {task.fields[return_]}"),
        Last(""),
    )
    console = Console(file=stream)
    console.print(harmless(run_id), highlight=False, markup=False)
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("", total=1.0, rate="", return_=UNKNOWN, last="")
        yield _BarProgress(lambda **fields: bar.update(task, **fields))


class _BarProgress:
    """Behind the bar stands the time left, or what the run does instead of training."""

    def __init__(self, update: Callable[..., None]) -> None:
        self._update = update
        self._phase = PhaseWords()
        self._left: object = ""
        self._last: object = ""
        self._return = math.nan

    def __call__(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        fields: dict[str, object] = {}
        if "speed/env_steps_per_s" in values:
            fields["rate"] = format_rate(values["speed/env_steps_per_s"])
        self._return = newest_return(values, self._return)
        if not math.isnan(self._return):
            fields["return_"] = format_value(self._return)
        self._last = self._left = TimeLeft(values.get("progress/eta_s", math.nan))
        self._update(completed=values["progress/fraction"], last=self._left, **fields)

    def phase(
        self, name: str, done: int | None, total: int | None, unit: str, left_s: float | None
    ) -> None:
        self._phase.set(name, done, total, unit, left_s)
        last = self._phase if name in SHOWN_PHASES else self._left
        if last is not self._last:
            self._last = last
            self._update(last=last)
