"""`operant export`: every row of a run for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError
from .helpers.candidates import run_ids
from .helpers.choosing_a_run import checkpoint_option, run_here, trust_code_option

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "tensorboard": ".tensorboard", "onnx": ".onnx"}


@click.command("export")
@click.argument("run", shell_complete=run_ids)
@click.option("--to", required=True, type=click.Choice(list(ENDINGS)), help="The format to write.")
@click.option(
    "--output", type=Path, metavar="PATH", help="The file to write. Default: RUN.csv and so on."
)
@click.option("--yes", is_flag=True, help="Overwrite an existing file without asking.")
@trust_code_option
@checkpoint_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    run: str,
    to: str,
    output: Path | None,
    yes: bool,
    checkpoint: str,
    as_json: bool,
) -> None:
    """Write all rows of RUN to a file, or its policy as ONNX.

    RUN is a run's id, its name, or any part of either that no other run has; it may be running,
    finished or crashed. The ONNX file maps observations to greedy actions.
    """
    if to != "onnx" and checkpoint != "newest":
        raise UsageError(f"--checkpoint {checkpoint} is for --to onnx: a history has no checkpoint")
    chosen = run_here(run)
    output = output or Path(chosen.id + ENDINGS[to])
    if output.is_file() and not yes:
        ask_to_overwrite(output)
    if to == "onnx":
        _export_policy(chosen, output, checkpoint, as_json)
        return

    from ..monitor.export.writing import export
    from ..monitor.render.formatting import counted
    from .helpers.output import print_json, print_line, warn

    done = export(chosen, to, output)
    if as_json:
        rows = {"rows": done.num_rows, "lost_rows": done.num_lost}
        print_json({"run": chosen.id, "output": str(output), **rows})
    else:
        print_line(f"{output}: {counted(done.num_rows, 'row')}")
    if done.problem:
        warn(f"{done.problem}; these are the rows that the page still has")
    if done.num_lost:
        lost = counted(done.num_lost, "row")
        were = "was" if done.num_lost == 1 else "were"
        warn(f"{lost} {were} overwritten before a recorder could keep them")


def ask_to_overwrite(output: Path) -> None:
    """Raises UsageError if there is no terminal to ask on, Abort if the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError(f"{output} exists already; pass --yes to overwrite it")
    click.confirm(f"{output} is there already; write over it?", abort=True, err=True)


def _export_policy(run: Run, output: Path, checkpoint: str, as_json: bool) -> None:
    from ..trainer.experiment.onnx_export import write_trained
    from ..trainer.experiment.trained_policy import load_trained
    from .helpers.output import print_json, print_line, warn

    trained = load_trained(run, warn, checkpoint)
    write_trained(trained, run.id, output)
    if as_json:
        print_json({"run": run.id, "output": str(output), "iteration": trained.iteration})
    else:
        print_line(f"{output}: the policy of iteration {trained.iteration}")
