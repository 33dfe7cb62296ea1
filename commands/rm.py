"""`operant rm`: delete runs that have ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from ..monitor.render.formatting import format_bytes, format_duration
from ..shared.errors import OperantError, UsageError, nearest
from .helpers.candidates import run_ids, states_of
from .helpers.choosing_a_run import runs_here
from .helpers.numbers import parse_duration

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run
    from ..shared.runs.run_notes import RunNotes
    from ..shared.runs.status import RunStatus

_STATES = ("crashed", "ended", "failed", "finished", "stopped")


class Chosen(NamedTuple):
    """A run that may go, as it was looked at, and how much it takes on the disk."""

    run: Run
    status: RunStatus
    notes: RunNotes
    age_s: float
    size_bytes: int


@click.command("rm")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=run_ids)
@click.option(
    "--older-than", metavar="30d", help="Runs that ended at least so long ago: 45m, 12h, 30d or 8w."
)
@click.option(
    "--state",
    metavar="STATE,...",
    shell_complete=states_of(*_STATES),
    help="Runs that are crashed, ended, failed, finished or stopped.",
)
@click.option(
    "--archived", is_flag=True, help="Archived runs; without it, they are deleted only if named."
)
@click.option("--keep-checkpoints", is_flag=True, help="Delete only rows, logs and traces.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(
    runs: tuple[str, ...],
    older_than: str | None,
    state: str | None,
    archived: bool,
    keep_checkpoints: bool,
    yes: bool,
) -> None:
    """Delete RUNs, or all runs that match the options, after showing them and asking.

    A live run is never deleted, and links in a run's folder are not followed. With
    --keep-checkpoints a run keeps its configuration, notes, events, checkpoints and last curves, so
    that `operant eval`, `play`, `export --to onnx` and `train --resume` still work.
    """
    from ..shared.runs.removal import remove_leftovers
    from .helpers.output import print_line

    if not (runs or older_than or state or archived):
        raise UsageError("name runs, or choose some: --older-than 30d, --state crashed, --archived")
    states = _states(state)
    age_s = parse_duration("--older-than", older_than) if older_than else 0.0
    found = _chosen(runs, keep_checkpoints, archived)
    chosen = [
        one
        for one in found
        if one.status.state in states
        and one.age_s >= age_s
        and (not archived or one.notes.is_archived)
    ]
    if not chosen:
        print_line("no run matches; nothing was removed")
        return
    total = f"{_count(chosen)}, {format_bytes(sum(one.size_bytes for one in chosen))}"
    if not yes and not _is_meant(chosen, total, keep_checkpoints):
        print_line("nothing was removed")
        return
    _remove(chosen, keep_checkpoints)
    remove_leftovers()
    print_line(f"removed {total}")


def _states(text: str | None) -> tuple[str, ...]:
    """Those asked for; of a run whose state only a newer operant knows, nothing is known."""
    states = tuple(text.split(",")) if text else _STATES
    for state in states:
        if state not in _STATES:
            hint = nearest(state, _STATES)
            raise UsageError(f"--state {state} is unknown{hint}; there are {', '.join(_STATES)}")
    return states


def _chosen(wanted: tuple[str, ...], keep_checkpoints: bool, archived: bool) -> list[Chosen]:
    """Those that are named, each of which must be one that can go; else all that can, without the
    archived ones where those are not asked for.
    """
    from ..shared.runs.find_runs import list_runs
    from ..shared.runs.removal import check_can_be_removed

    if wanted:
        named = runs_here(wanted)
        for run in named:
            check_can_be_removed(run)
        return [_looked_at(run, keep_checkpoints) for run in named]
    found = []
    for run in list_runs():
        try:
            check_can_be_removed(run)
        except UsageError:
            continue
        if archived or not run.notes().is_archived:
            found.append(_looked_at(run, keep_checkpoints))
    return found


def _looked_at(run: Run, keep_checkpoints: bool) -> Chosen:
    import time

    from ..shared.runs.removal import size_bytes
    from ..shared.runs.status import status_in_list

    status = status_in_list(run)
    # Where no publish tells, what was written last: the folder's own time.
    age_s = status.age_s if status.age_s is not None else time.time() - run.folder.stat().st_mtime
    return Chosen(run, status, run.notes(), age_s, size_bytes(run, keep_checkpoints))


def _is_meant(chosen: list[Chosen], total: str, keep_checkpoints: bool) -> bool:
    """Show what goes, and ask. Raises UsageError if nobody can answer."""
    from ..monitor.panels.run_table import notes_in_words
    from ..monitor.render.columns import Column
    from .helpers.output import print_table

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"refusing to delete {total} without confirmation: pass --yes (no terminal to ask on)"
        )
    columns = [
        Column[Chosen]("run", lambda one: one.run.id, 20, 64, align="<>"),
        Column[Chosen]("state", lambda one: one.status.state),
        Column[Chosen]("age", lambda one: format_duration(one.age_s), align=">"),
        Column[Chosen]("size", lambda one: format_bytes(one.size_bytes), align=">"),
        Column[Chosen]("checkpoints", lambda one: _num_checkpoints(one.run), align=">"),
        Column[Chosen](
            "about", lambda one: f"{one.notes.name} {notes_in_words(one.notes)}".strip(), 16, 200
        ),
    ]
    print_table(columns, chosen)
    what = "all but checkpoints and curves of " if keep_checkpoints else ""
    return click.confirm(f"Delete {what}{total}, for good?")


def _num_checkpoints(run: Run) -> str:
    """The number of checkpoints; empty if there are none."""
    try:
        names = os.listdir(run.checkpoint_folder)
    except OSError:
        return ""
    return str(sum(name.endswith(".pt") for name in names) or "")


def _remove(chosen: list[Chosen], keep_checkpoints: bool) -> None:
    """One after the other. Raises what the first that stays says, once the others are gone."""
    from ..shared.runs.removal import remove_run

    errors = []
    for one in chosen:
        try:
            remove_run(one.run, keep_checkpoints)
        except OperantError as error:
            errors.append(str(error))
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise OperantError(f"{errors[0]}{more}; removed {len(chosen) - len(errors)}")


def _count(chosen: list[Chosen]) -> str:
    return "1 run" if len(chosen) == 1 else f"{len(chosen)} runs"
