"""`operant sweep list`: all sweeps."""

from __future__ import annotations

import click


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(as_json: bool) -> None:
    """List all sweeps, the one that ran last first."""
    from ...monitor.render.columns import Column
    from ...shared.runs.sweep_folder import Sweep, list_sweeps
    from ..helpers.output import print_json, print_line, print_table
    from .status import in_words

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
