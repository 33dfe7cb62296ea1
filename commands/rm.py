"""`operant rm`: delete runs that have ended."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from ..monitor.render.formatting import format_bytes, format_duration
from ..shared.errors import OperantError, UsageError
from .command import Command, json_option
from .helpers.candidates import run_ids
from .helpers.choosing_a_run import runs_here
from .helpers.numbers import parse_duration

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run
    from ..shared.runs.run_notes import RunNotes
    from ..shared.runs.status import RunStatus


class Chosen(NamedTuple):
    """A run that may go, as it was looked at, and how much it takes on the disk."""

    run: Run
    status: RunStatus
    notes: RunNotes
    age_s: float
    size_bytes: int


@click.command("rm", cls=Command)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=run_ids)
@click.option(
    "--older-than", metavar="30d", help="Runs that ended at least so long ago: 45m, 12h, 30d or 8w."
)
@click.option(
    "--filter", "words", metavar="WORDS",
    help="Runs that `operant runs WORDS` lists, as state:crashed or archived:yes.",
)  # fmt: skip
@click.option("--keep-checkpoints", is_flag=True, help="Delete only rows, logs and traces.")
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and delete nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
def command(
    runs: tuple[str, ...],
    older_than: str | None,
    words: str | None,
    keep_checkpoints: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete RUNs, or all runs that match, after asking.

    A live run is never deleted, and links in a run's folder are not followed. An archived run is
    deleted only if it is named, or the filter asks for it. With --keep-checkpoints a run keeps its
    configuration, notes, events, checkpoints and last curves, so that `operant eval`, `play`,
    `export -o FILE.onnx` and `train --resume` still work.
    """
    from ..shared.runs.removal import remove_leftovers
    from .helpers.output import print_json, print_line

    if not (runs or older_than or words):
        raise UsageError("name runs, or choose some: --older-than 30d, --filter state:crashed")
    age_s = parse_duration("--older-than", older_than) if older_than else 0.0
    chosen = [one for one in _chosen(runs, words, keep_checkpoints) if one.age_s >= age_s]
    size_bytes = sum(one.size_bytes for one in chosen)
    total = f"{_count(chosen)}, {format_bytes(size_bytes)}"
    if not chosen:
        said = "no run matches; nothing was removed"
    elif dry_run:
        said = f"would remove {total}"
        if not as_json:
            _show(chosen)
    elif yes or _is_meant(chosen, total, keep_checkpoints, as_json):
        _remove(chosen, keep_checkpoints)
        remove_leftovers()
        said = f"removed {total}"
    else:
        said = "nothing was removed"
    if as_json:
        ids = [one.run.id for one in chosen]
        print_json({"ids": ids, "size_bytes": size_bytes, "dry_run": dry_run})
    else:
        print_line(said)


def _chosen(wanted: tuple[str, ...], words: str | None, keep_checkpoints: bool) -> list[Chosen]:
    """The runs that are named, each of which must be removable; else all removable runs. Both must
    fit the filter `words`, which leaves archived runs out unless it asks for them.
    """
    from ..shared.runs.removal import check_can_be_removed

    if wanted:
        named = runs_here(wanted)
        for run in named:
            check_can_be_removed(run)
        fitting = _fitting(words) if words else named
        return [_looked_at(run, keep_checkpoints) for run in named if run in fitting]
    found = []
    for run in _fitting(words or ""):
        try:
            check_can_be_removed(run)
        except UsageError:
            continue
        found.append(_looked_at(run, keep_checkpoints))
    return found


def _fitting(words: str) -> list[Run]:
    """The runs of this machine that fit a filter. Raises UsageError if it is wrong."""
    from ..monitor.remote.remote_list import list_machines
    from .runs import filtered_rows

    rows, _ = list_machines([])
    return [
        row.run for row in filtered_rows([row for row in rows if row.status], "--filter", words)
    ]


def _looked_at(run: Run, keep_checkpoints: bool) -> Chosen:
    import time

    from ..shared.runs.removal import size_bytes
    from ..shared.runs.status import status_in_list

    status = status_in_list(run)
    # Where no publish tells, what was written last: the folder's own time.
    age_s = status.age_s if status.age_s is not None else time.time() - run.folder.stat().st_mtime
    return Chosen(run, status, run.notes(), age_s, size_bytes(run, keep_checkpoints))


def _is_meant(chosen: list[Chosen], total: str, keep_checkpoints: bool, as_json: bool) -> bool:
    """Show what goes, and ask. Raises UsageError if nobody can answer."""
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"refusing to delete {total} without confirmation: pass --yes (no terminal to ask on)"
        )
    _show(chosen)
    what = "all but checkpoints and curves of " if keep_checkpoints else ""
    return click.confirm(f"Delete {what}{total}, for good?")


def _show(chosen: list[Chosen]) -> None:
    from ..monitor.panels.run_table import notes_in_words
    from ..monitor.render.columns import Column
    from .helpers.output import print_table

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
