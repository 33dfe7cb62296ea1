"""`operant runs`: all runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from .choosing_a_run import checked_hosts, host_option

if TYPE_CHECKING:
    from ..shared.run_notes import RunNotes


@click.command("runs")
@host_option
@click.option("--archived", is_flag=True, help="Those that `operant archive` left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(hosts: tuple[str, ...], archived: bool, as_json: bool) -> int:
    """List all runs with their state, newest first; archived ones only where they are asked for.

    With --host those of other machines as well, as HOST:RUN; what a machine that does not answer
    has to say goes to standard error, and the exit code is 1.
    """
    if hosts:
        return _of_machines(checked_hosts(hosts), archived, as_json)
    from ..shared.ranks import status_in_list
    from ..shared.run_folder import list_runs, no_runs_text
    from .output import print_json, print_line, print_runs

    all_notes = {run: run.notes() for run in list_runs()}
    listed = {run: notes for run, notes in all_notes.items() if notes.is_archived == archived}
    looked = [(status_in_list(run), notes) for run, notes in listed.items()]
    if as_json:
        print_json([one.as_json(metrics=False) | notes.as_json() for one, notes in looked])
        return 0
    if not looked:
        left_out = f"all {len(all_notes)} runs are archived; `operant runs --archived` lists them"
        none = "no run is archived" if archived else left_out
        print_line(none if all_notes else no_runs_text())
    print_runs(looked)
    return 0


def _of_machines(hosts: list[str], archived: bool, as_json: bool) -> int:
    """This machine's runs and those of `hosts`; all but the silent ones where some are."""
    from ..monitor.remote.listing import list_machines
    from .output import print_json, print_runs, warn

    rows, troubles = list_machines(hosts)
    rows = [row for row in rows if row.notes.is_archived == archived]
    looked = [(row.host, row.status, row.notes) for row in rows if row.status]
    if as_json:
        print_json([
            status.as_json(metrics=False) | notes.as_json() | {"machine": host or None}
            for host, status, notes in looked
        ])  # fmt: skip
    else:
        print_runs([(status, _named(host, notes)) for host, status, notes in looked])
    for trouble in troubles:
        warn(trouble)
    return 1 if troubles else 0


def _named(host: str, notes: RunNotes) -> RunNotes:
    """With a name that other commands take as well, where people gave one."""
    return replace(notes, name=f"{host}:{notes.name}") if host and notes.name else notes
