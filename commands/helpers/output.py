"""The output of commands: one JSON object for programs, lines and tables for people."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...monitor.charts.charted_metrics import steps_name
from ...monitor.render.formatting import (
    SHOWN_PHASES,
    format_count,
    format_left,
    format_percent,
    format_rate,
    format_value,
)
from ...monitor.runs.reading.conditions import phase_words
from ...shared.errors import UsageError
from ...shared.page.schema import Metric
from ...shared.runs.run_folder import Run
from ...shared.runs.run_notes import RunNotes
from ...shared.runs.status import RunStatus
from ...shared.text.harmless import harmless

if TYPE_CHECKING:
    from ...monitor.render.columns import Column
    from ...monitor.runs.reading.run_view import RunView

Row = TypeVar("Row")
REPORTED_EVENTS, REPORT_WIDTH = 10, 160
_AFTER_FINISHED = {
    "eval": "measures its policy",
    "play": "shows its policy",
    "export -o run.csv": "writes its numbers",
}


def print_json(value: Any) -> None:
    """The one object on standard output. Names of files may hold bytes that are no text: Python has
    them as lone surrogates, which JSON must not have, so a question mark stands for each.
    """
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    if not text.isascii():
        text = json.dumps(json.loads(text.encode(errors="replace")))  # as every terminal takes it
    click.echo(text)


def check_can_be_written(option: str, path: Path) -> None:
    """Before what takes its time. Raises UsageError where no file can be written there."""
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"{option} {path}: cannot write a file there")


def print_line(text: str) -> None:
    click.echo(harmless(text))


def print_table(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> None:
    """Print a table that is as wide as the terminal. Into a file or a pipe, nothing is cut."""
    from ...monitor.render.columns import table_lines  # imports rich: the recorder does not

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for line in table_lines(columns, rows, width):
        click.echo(line)


def warn(text: str) -> None:
    """One line on standard error; none where there is nothing to say."""
    if text:
        click.echo(harmless(f"operant: warning: {text}"), err=True)


def run_json(
    status: RunStatus,
    notes: RunNotes,
    run: Run | None = None,
    *,
    host: str | None = None,
    device: str = "",
) -> dict[str, Any]:
    """A run as JSON, with the same keys in all commands. `run` is None where its folder is not on
    this machine but on `host`.
    """
    from .status_lines import device_of  # imports rich: the recorder does not

    fields = status.as_json()
    device = device or (device_of(run.manifest()) if run else "")
    place = {"folder": str(run.folder) if run else None, "host": host, "device": device or None}
    return {"id": fields.pop("run"), **place, **notes.as_json(), **fields}


def headline(status: RunStatus) -> str:
    """`running, iteration 120, 491.5k env steps (24.6%), 132k/s, 11s left`."""
    parts = [status.state + (f" ({status.message})" if status.message else "")]
    if status.phase in SHOWN_PHASES:
        parts.append(phase_words(status))
    if status.iteration is not None:
        parts.append(f"iteration {status.iteration}")
    if status.env_steps is not None:
        parts.append(f"{format_count(status.env_steps)} {steps_name(status.metrics)}")
    if status.progress_fraction is not None:
        parts[-1] += f" ({format_percent(status.progress_fraction)})"
    if status.env_steps_per_s is not None:
        parts.append(format_rate(status.env_steps_per_s))
    return ", ".join(filter(None, [*parts, format_left(status.eta_s)]))


def print_ending(run: Run, as_json: bool) -> None:
    """Print the state of a run that this command started, and commands to go on with."""
    from ...monitor.panels.hints import newest_warning
    from ...monitor.runs.reading.run_poller import look_once

    view = look_once(run)
    status = view.status
    if as_json:
        print_json(run_json(status, view.notes, run))
        return
    print_line(f"{run.id}: {headline(status)}")
    if status.is_alive:
        next_ones = {"monitor": "watches it", "stop": "stops it"}
    else:
        returns = ("evaluation/return", "episode/return")
        known = [name for name in returns if not math.isnan(status.metrics.get(name, math.nan))]
        for name in known[:1]:
            print_line(f"  {name} {format_value(status.metrics[name])}")
        if warning := newest_warning(view.events):
            print_line(f"  warning: {warning}")
        next_ones = _AFTER_FINISHED if status.state == "finished" else {}
        is_left = status.state != "finished" and (status.progress_fraction or 0.0) < 1
        if is_left and any(run.checkpoint_folder.glob("iteration-*.pt")):
            next_ones = {"train --resume": "goes on"}
    commands = {f"operant {words} {run.id}": effect for words, effect in next_ones.items()}
    width = max(map(len, commands), default=0)
    for command, effect in commands.items():
        print_line(f"  {command:<{width}}    {effect}")


def print_status(
    status: RunStatus, notes: RunNotes, run: Run | None = None, schema: Iterable[Metric] = ()
) -> None:
    """All that is known of a run, as a table; of one whose folder is here, `run`, what that says as
    well. The `schema` has the units of its metrics.
    """
    from .status_lines import facts_of, status_lines

    print_line(f"{notes.name} ({status.run})" if notes.name else status.run)
    for line in status_lines(status, notes, facts_of(run) if run else (), schema):
        print_line(f"  {line}")


def print_report(run: Run) -> None:
    """All that a screen would show of a run, as plain lines."""
    from ...monitor.panels.event_lines import NO_RECORDER
    from ...monitor.panels.hints import hints_in_words
    from ...monitor.panels.phases import recent_phases
    from ...monitor.panels.publish_cost import publish_cost
    from ...monitor.runs.reading.run_poller import look_once

    view = look_once(run)
    print_status(view.status, view.notes, run, view.schema)
    phases = recent_phases(view.schema, view.history)
    if phases:
        shares = (f"{phase.name} {format_percent(phase.fraction)}" for phase in phases)
        print_line(f"  time: {', '.join(shares)}")
    for hint in hints_in_words(view):
        print_line(f"  hint: {hint}")
    print_line(f"  publishing: {publish_cost(view).in_words()}")
    if view.status.is_alive and not view.is_recorded:
        print_line(f"  {NO_RECORDER}")
    print_events(view, REPORTED_EVENTS, indent="  ")


def print_events(view: RunView, num_events: int | None, indent: str = "") -> None:
    """Print the last events and alerts of a run, all of the view by default."""
    from ...monitor.panels.event_lines import brief_lines, with_alerts

    events = with_alerts(view.events, view.alerts)
    chosen = events if num_events is None else events[len(events) - min(num_events, len(events)) :]
    for line in brief_lines(chosen, REPORT_WIDTH):
        print_line(indent + "".join(text for text, _ in line).rstrip())
