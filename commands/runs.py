"""`operant runs`: all runs."""

from __future__ import annotations

import click


@click.command("runs")
@click.option("--archived", is_flag=True, help="Those that `operant archive` left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(archived: bool, as_json: bool) -> None:
    """List all runs with their state, newest first; archived ones only where they are asked for."""
    from ..shared.ranks import status_in_list
    from ..shared.run_folder import list_runs, no_runs_text
    from .output import headline, notes_in_words, print_json, print_line

    all_notes = {run: run.notes() for run in list_runs()}
    listed = {run: notes for run, notes in all_notes.items() if notes.is_archived == archived}
    looked = [(status_in_list(run), notes) for run, notes in listed.items()]
    if as_json:
        print_json([one.as_json(metrics=False) | notes.as_json() for one, notes in looked])
        return
    if not looked:
        left_out = f"all {len(all_notes)} runs are archived; `operant runs --archived` lists them"
        none = "no run is archived" if archived else left_out
        print_line(none if all_notes else no_runs_text())
    width = max((len(notes.name or status.run) for status, notes in looked), default=0)
    for status, notes in looked:
        words = notes_in_words(notes)
        line = f"{notes.name or status.run:<{width}}  {headline(status)}"
        print_line(f"{line}  {words}" if words else line)
