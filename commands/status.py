"""`operant status`: one look at a run or a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError
from .command import Command, json_option
from .helpers.choosing_a_run import chosen_host, looked_anywhere, run_or_sweep, sweep_called

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run


@click.command("status", cls=Command)
@run_or_sweep
@click.option("-f", "--follow", is_flag=True, help="Print a line per snapshot until the run ends.")
@json_option
def command(name: str | None, latest: bool, follow: bool, as_json: bool) -> None:
    """Show the state and the newest numbers of a run or a sweep.

    Default: the latest run. If one phase takes most of the time, it also prints advice. Of a sweep
    it prints the trials, best first, and the importance of each key. HOST:RUN is a run on another
    machine, over your own ssh.
    """
    if sweep := sweep_called(name):
        from .sweep.status import show_sweep

        if follow:
            raise UsageError(f"--follow {name}: this is a sweep; follow one of its runs")
        show_sweep(sweep, as_json)
        return
    if follow:
        from .helpers.following import follow_anywhere

        follow_anywhere(name, latest, as_json)
        return
    _show_run(name, latest, as_json)


def _show_run(name: str | None, latest: bool, as_json: bool) -> None:
    from ..monitor.panels.hints import hints_in_words
    from ..monitor.runs.reading.run_poller import look_once
    from ..shared.runs.find_runs import find_run
    from .helpers.output import print_json, print_line, print_status, run_json

    status, notes = looked_anywhere(name, latest)
    remote = chosen_host(name, latest)  # whose folder is out of reach
    chosen = None if remote else find_run(status.run)
    lost = _num_lost(chosen) if chosen else {}
    view = look_once(chosen) if chosen else None
    hints = hints_in_words(view) if view else []
    if as_json:
        more = {f"lost_{what}": count for what, count in lost.items()}
        host = remote.host if remote else None
        about = run_json(status, notes, chosen, host=host)
        print_json({**about, "hint": "; ".join(hints) or None, **more})
        return
    print_status(status, notes, chosen, view.schema if view else ())
    for what, count in lost.items():
        noun, were = (what.removesuffix("s"), "was") if count == 1 else (what, "were")
        print_line(f"  {count} {noun} {were} overwritten before a recorder could keep them")
    for hint in hints:
        print_line(f"  hint: {hint}")


def _num_lost(run: Run) -> dict[str, int]:
    """The numbers of rows and messages that were lost; without those that are 0."""
    from ..shared.rows.row_file_reader import num_lost

    num_rows, num_events = num_lost(run.rows_path)
    counts = {"rows": num_rows, "messages": num_events}
    return {what: count for what, count in counts.items() if count}
