"""`operant sweep list`: all sweeps."""

from __future__ import annotations

import click


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(as_json: bool) -> None:
    """List all sweeps, the one that ran last first."""
    from ...shared.runs.sweep_folder import list_sweeps
    from ..helpers.output import print_json, print_line
    from ..helpers.tables import Column, print_table
    from .status import in_words

    sweeps = list_sweeps()
    words = [in_words(sweep) for sweep in sweeps]
    if as_json:
        print_json([
            {"name": sweep.name, "is_running": sweep.is_held(), "summary": text}
            for sweep, text in zip(sweeps, words, strict=True)
        ])  # fmt: skip
    elif not sweeps:
        print_line("There are no sweeps yet; `operant sweep` starts one.")
    else:
        columns = [
            Column("sweep", [sweep.name for sweep in sweeps]),
            Column("how it goes", words, least=20),
        ]
        print_table(columns)
