"""`operant tinyphysics export`: a trained policy as a controller file of the challenge."""

from __future__ import annotations

from pathlib import Path

import click

from ...shared.errors import UsageError
from ..helpers.candidates import run_ids


@click.command("export")
@click.argument("run", shell_complete=run_ids)
@click.argument("file", type=click.Path(path_type=Path), metavar="CONTROLLER.py")
def command(run: str, file: Path) -> None:
    """Write the policy of RUN as one file for the challenge's `controllers` folder.

    The file holds the weights and needs only NumPy. It steers exactly as in `operant tinyphysics
    eval`.
    """
    from ...trainer.tinyphysics_training.controlling import load_policy
    from ...trainer.tinyphysics_training.exporting import controller_source
    from ..helpers.output import print_line

    if file.suffix != ".py":
        raise UsageError(f"{file}: a controller's file name must end in .py")
    source = controller_source(load_policy(run), run)
    try:
        file.write_text(source)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    print_line(f"{file}: copy it to controllers/ and name it --controller {file.stem} there")
