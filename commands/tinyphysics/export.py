"""`operant tinyphysics export`: a trained policy as a controller file of the challenge."""

from __future__ import annotations

from pathlib import Path

import click

from ...shared.errors import UsageError
from ..command import Command, json_option
from ..helpers.candidates import run_ids


@click.command("export", cls=Command)
@click.argument("run", shell_complete=run_ids)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE.py",
    help="The file to write.",
)  # fmt: skip
@json_option
def command(run: str, output: Path, as_json: bool) -> None:
    """Write the policy of RUN as one file for the challenge's `controllers` folder.

    The file holds the weights and needs only NumPy. It steers exactly as in `operant tinyphysics
    eval`.
    """
    from ...trainer.tinyphysics_training.controlling import load_policy
    from ...trainer.tinyphysics_training.exporting import controller_source
    from ..helpers.output import print_json, print_line

    if output.suffix != ".py":
        raise UsageError(f"-o {output}: a controller's file name must end in .py")
    source = controller_source(load_policy(run), run)
    try:
        output.write_text(source)
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from None
    if as_json:
        print_json({"id": run, "output": str(output)})
        return
    print_line(f"{output}: copy it to controllers/ and name it --controller {output.stem} there")
