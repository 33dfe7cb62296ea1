"""`operant export`: every row of a run for other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError
from .command import Command, json_option
from .helpers.candidates import run_ids
from .helpers.choosing_a_run import checkpoint_option, chosen_policy, chosen_run, trust_code_option

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run

FORMATS = ("csv", "parquet", "onnx", "tensorboard")


@click.command("export", cls=Command)
@click.argument("run", shell_complete=run_ids)
@click.option(
    "-o", "--output", required=True, type=Path, metavar="FILE",
    help="FILE.csv, FILE.parquet or a folder tensorboard/: all rows; FILE.onnx: the policy.",
)  # fmt: skip
@click.option("-y", "--yes", is_flag=True, help="Overwrite an existing file without asking.")
@trust_code_option
@checkpoint_option
@json_option
def command(
    run: str,
    output: Path,
    yes: bool,
    checkpoint: str,
    as_json: bool,
) -> None:
    """Write all rows of RUN to a file, or its policy as ONNX.

    The ending of FILE is the format. RUN may be running, finished or crashed. The ONNX file maps
    observations to greedy actions. A folder for TensorBoard is named tensorboard, or ends in
    .tensorboard.
    """
    to = format_of(output)
    if to != "onnx" and checkpoint != "newest":
        raise UsageError(
            f"--checkpoint {checkpoint} is for -o FILE.onnx: a history has no checkpoint"
        )
    chosen = chosen_policy(run) if to == "onnx" else chosen_run(run)
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
        print_json({"id": chosen.id, "output": str(output), **rows})
    else:
        print_line(f"{output}: {counted(done.num_rows, 'row')}")
    if done.problem:
        warn(f"{done.problem}; these are the rows that the page still has")
    if done.num_lost:
        lost = counted(done.num_lost, "row")
        were = "was" if done.num_lost == 1 else "were"
        warn(f"{lost} {were} overwritten before a recorder could keep them")


def format_of(output: Path) -> str:
    """One of FORMATS, by the ending of the name. Raises UsageError."""
    to = output.name.rpartition(".")[2].lower()
    if to not in FORMATS or (to != "tensorboard" and not output.suffix):
        raise UsageError(
            f"-o {output}: expected a name that ends in .csv, .parquet, .onnx or tensorboard"
        )
    return to


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
        print_json({"id": run.id, "output": str(output), "iteration": trained.iteration})
    else:
        print_line(f"{output}: the policy of iteration {trained.iteration}")
