"""The results of sweeps, for `operant status`, `stop` and `runs --sweeps`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ...monitor.render.columns import Column
from ...monitor.render.formatting import format_duration
from ...monitor.sweeps.lines import draw_importances, ranked, summary, trial_columns
from ...shared.errors import RunFolderError
from ...shared.runs.sweep_folder import Sweep, list_sweeps
from ..helpers.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from ...shared.runs.sweep_table import SweepTable

FILE_WIDTH = 160  # of bars


def show_sweep(sweep: Sweep, as_json: bool) -> None:
    """Print the trials of a sweep, best first, and the importance of each key."""
    table = _latest(sweep)
    if as_json:
        print_json({"state": sweep.state(table), **table.as_json()})
        return
    print_sweep(sweep, table)


def print_sweeps(as_json: bool) -> None:
    """Print all sweeps, the one that ran last first."""
    sweeps = list_sweeps()
    if as_json:
        print_json([
            {"name": sweep.name, "is_running": sweep.is_held(), "summary": in_words(sweep)}
            for sweep in sweeps
        ])  # fmt: skip
    elif not sweeps:
        print_line("There are no sweeps yet; `operant sweep` starts one.")
    else:
        columns = [
            Column[Sweep]("sweep", lambda sweep: sweep.name),
            Column[Sweep]("how it goes", in_words, 20, 200),
        ]
        print_table(columns, sweeps)


def _latest(sweep: Sweep) -> SweepTable:
    """The table, with what other machines have done since the sweep ended here."""
    from .definition import check_optuna, read_definition, read_table

    with contextlib.suppress(OSError, ValueError):
        if read_table(sweep).get("storage") and not sweep.is_held():
            check_optuna()
            from .found_table import TableWriter
            from .study import open_study

            definition = read_definition(sweep)
            return TableWriter(sweep, definition, open_study(sweep, definition)).write()
    return sweep.table()


def in_words(sweep: Sweep) -> str:
    """The summary of a sweep, or the error of its table."""
    try:
        table = sweep.table()
    except RunFolderError as error:
        return str(error)
    return summary(table, sweep.state(table))


def print_sweep(sweep: Sweep, table: SweepTable, took_s: float | None = None) -> None:
    """Print the trials in the columns of the monitor, and the importance of each key."""
    state = sweep.state(table) if took_s is None else sweep.state_when_free(table)
    took = "" if took_s is None else f", {format_duration(took_s)}"
    print_line(f"{sweep.name}: {summary(table, state)}{took}")
    print_table(trial_columns(table, state), ranked(table))
    for line in draw_importances(table, FILE_WIDTH):
        print_line("".join(text for text, _ in line).rstrip())
