"""`operant sweep status`: what a sweep has found."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from ..helpers.candidates import sweeps

if TYPE_CHECKING:
    from ...shared.runs.sweep_folder import Sweep
    from ...shared.runs.sweep_table import SweepTable

FILE_WIDTH = 160  # of bars


@click.command("status")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=sweeps)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(name: str | None, as_json: bool) -> None:
    """Show the trials of a sweep, best first, and the importance of each key. Default: the latest
    sweep.
    """
    from ...shared.runs.sweep_folder import find_sweep
    from ..helpers.output import print_json

    sweep = find_sweep(name)
    table = _latest(sweep)
    if as_json:
        print_json({"state": sweep.state(table), **table.as_json()})
        return
    print_sweep(sweep, table)


def _latest(sweep: Sweep) -> SweepTable:
    """With what other machines have done since the sweep ended here."""
    from .definition import read_definition, read_table

    with contextlib.suppress(OSError, ValueError):
        if read_table(sweep).get("storage") and not sweep.is_held():
            from .found_table import TableWriter
            from .study import open_study

            definition = read_definition(sweep)
            return TableWriter(sweep, definition, open_study(sweep, definition)).write()
    return sweep.table()


def in_words(sweep: Sweep) -> str:
    """How a sweep goes, or why nobody knows."""
    from ...monitor.sweeps.lines import summary
    from ...shared.errors import RunFolderError

    try:
        table = sweep.table()
    except RunFolderError as error:
        return str(error)
    return summary(table, sweep.state(table))


def print_sweep(sweep: Sweep, table: SweepTable, took_s: float | None = None) -> None:
    """Print the trials in the columns of the monitor, and the importance of each key."""
    from ...monitor.render.formatting import format_duration
    from ...monitor.sweeps.lines import draw_importances, ranked, summary, trial_columns
    from ..helpers.output import print_line, print_table

    state = sweep.state(table) if took_s is None else sweep.state_when_free(table)
    took = "" if took_s is None else f", {format_duration(took_s)}"
    print_line(f"{sweep.name}: {summary(table, state)}{took}")
    print_table(trial_columns(table, state), ranked(table))
    for line in draw_importances(table, FILE_WIDTH):
        print_line("".join(text for text, _ in line).rstrip())
