"""`operant export`: a run's whole history for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from ..shared.errors import UsageError
from ..shared.run_folder import find_run

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "tensorboard": ".tensorboard"}


@click.command("export")
@click.argument("run")
@click.option("--to", required=True, type=click.Choice(list(ENDINGS)), help="The kind of file.")
@click.option("--output", type=Path, metavar="PATH", help="By default RUN.csv and so on, here.")
@click.option("--rank", default=0, type=click.IntRange(0), help="Of a run of several processes.")
@click.option("--spread", is_flag=True, help="Also lowest and highest values; csv and parquet.")
def command(run: str, to: str, output: Path | None, rank: int, spread: bool) -> None:
    """Write the whole history of RUN, running, finished or crashed, to a file.

    RUN is a run's id or any part of it that no other run has. The newest part has a row for each
    publish, older parts one for 8, 64, ... of them, with their mean.
    """
    if spread and to == "tensorboard":
        raise UsageError("--spread is for csv and parquet: TensorBoard shows single values")
    chosen = find_run(run)
    output = output or Path(chosen.id + ENDINGS[to])

    from ..monitor.export import export
    from .output import print_line

    num_rows = export(chosen, to, output, rank=rank, spread=spread)
    print_line(f"{output}: {num_rows} rows")
