"""`operant tinyphysics export`: a trained policy as a controller file of the challenge."""

from __future__ import annotations

from pathlib import Path

import click

from ...shared.errors import UsageError
from ..candidates import run_ids


@click.command("export")
@click.argument("run", shell_complete=run_ids)
@click.argument("file", type=click.Path(path_type=Path), metavar="CONTROLLER.py")
def command(run: str, file: Path) -> None:
    """Write the policy of RUN as one file for the challenge's `controllers` folder.

    The file holds the weights and needs NumPy alone; there it steers as `eval` does here.
    """
    from ...trainer.envs.tinyphysics.training.controlling import load_policy
    from ...trainer.envs.tinyphysics.training.exporting import controller_source
    from ..output import print_line

    if file.suffix != ".py":
        raise UsageError(f"{file} does not end in .py, as a controller of the challenge has to")
    source = controller_source(load_policy(run), run)
    try:
        file.write_text(source)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    print_line(f"{file}: copy it to controllers/ and name it --controller {file.stem} there")
