"""`operant status`: one look at a run."""

from __future__ import annotations

import click

from .helpers.choosing_a_run import chosen_host, looked_anywhere, run_argument


@click.command("status")
@run_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str | None, latest: bool, as_json: bool) -> None:
    """Show the state and the newest numbers of a run. Default: the latest run. If one phase takes
    most of the time, it also prints advice.

    RUN is a run's id, its name, or any part of either that no other run has. If several runs have
    the name, it is the newest, and a warning says so. HOST:RUN is a run on another machine, over
    your own ssh.
    """
    from ..monitor.panels.hints import hints_in_words
    from ..monitor.runs.reading.run_poller import look_once
    from ..shared.runs.find_runs import find_run
    from .helpers.output import print_json, print_line, print_status

    status, notes = looked_anywhere(run, latest)
    is_remote = chosen_host(run, latest) is not None  # whose folder is out of reach
    lost = {} if is_remote else _num_lost(status.run)
    chosen = None if is_remote else find_run(status.run)
    view = look_once(chosen) if chosen else None
    hints = hints_in_words(view) if view else []
    if as_json:
        lost_ones = {f"lost_{what}": count for what, count in lost.items()}
        folder = {"folder": str(chosen.folder)} if chosen else {}
        more = {**folder, "hint": "; ".join(hints) or None, **lost_ones}
        print_json(status.as_json() | notes.as_json() | more)
        return
    print_status(status, notes, chosen, view.schema if view else ())
    for what, count in lost.items():
        noun, were = (what.removesuffix("s"), "was") if count == 1 else (what, "were")
        print_line(f"  {count} {noun} {were} overwritten before a recorder could keep them")
    for hint in hints:
        print_line(f"  hint: {hint}")


def _num_lost(run_id: str) -> dict[str, int]:
    """The numbers of rows and messages that were lost; without those that are 0."""
    from ..shared.rows.row_file_reader import num_lost
    from ..shared.runs.find_runs import find_run

    run = find_run(run_id)
    num_rows, num_events = num_lost(run.rows_path)
    counts = {"rows": num_rows, "messages": num_events}
    return {what: count for what, count in counts.items() if count}
