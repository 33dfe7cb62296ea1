"""Progress of a run in the foreground: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from ..monitor.formatting import (
    format_count,
    format_duration,
    format_percent,
    format_rate,
    format_value,
)

LINE_EVERY_S = 2.0
Report = Callable[[Mapping[str, float], int, int], None]


@contextmanager
def progress_report(run_id: str, to_stderr: bool) -> Iterator[Report]:
    """What to call with (values, iteration, env_steps) of every publish."""
    stream = sys.stderr if to_stderr else sys.stdout
    if stream.isatty():
        with _bar(run_id, stream) as report:
            yield report
    else:
        print(run_id, file=stream, flush=True)
        yield PlainProgress(stream)


class PlainProgress:
    """`24.6%  491.5k env steps  132k/s  return 187.2  11s left`, not more often than asked for."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, now
        self._line_at = -LINE_EVERY_S
        self._return = float("nan")
        self._rate = float("nan")

    def __call__(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        self._return = values.get("episode/return", self._return)
        self._rate = values.get("speed/env_steps_per_s", self._rate)
        is_last = values["progress/fraction"] >= 1
        if self._now() - self._line_at < LINE_EVERY_S and not is_last:
            return
        self._line_at = self._now()
        parts = [
            f"{format_percent(values['progress/fraction']):>6}",
            f"{format_count(env_steps)} env steps",
            format_rate(self._rate),
            f"return {format_value(self._return)}",
        ]
        if "progress/eta_s" in values and not is_last:
            parts.append(f"{format_duration(values['progress/eta_s'])} left")
        print("  ".join(parts), file=self._stream, flush=True)


@contextmanager
def _bar(run_id: str, stream: TextIO) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.percentage:>5.1f}%"),
        BarColumn(),
        TextColumn("{task.fields[rate]}  return {task.fields[return_]}"),
        TimeRemainingColumn(),
    )
    console = Console(file=stream)
    console.print(run_id, highlight=False)
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=1.0, rate="", return_="")

        def report(values: Mapping[str, float], iteration: int, env_steps: int) -> None:
            fields: dict[str, Any] = {}
            if "speed/env_steps_per_s" in values:
                fields["rate"] = format_rate(values["speed/env_steps_per_s"])
            if "episode/return" in values:
                fields["return_"] = format_value(values["episode/return"])
            progress.update(task, completed=values["progress/fraction"], **fields)

        yield report
