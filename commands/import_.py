"""`operant import`: runs that other programs logged."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError
from ..shared.text.harmless import harmless
from .command import Command, json_option

if TYPE_CHECKING:
    from ..monitor.imports.sources import Imported


@click.command("import", cls=Command)
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path)
)
@json_option
def command(paths: tuple[Path, ...], as_json: bool) -> int:
    """Make runs of what other programs logged at PATH.

    PATH is a file, a folder, or a folder of many runs. It reads TensorBoard's event files, wandb's
    folders (also of offline runs), progress.csv of Stable-Baselines3 and metrics.csv of Lightning.
    Every row is kept with its step and its time. The files stay as they are. What was imported
    before is not imported again.
    """
    from ..monitor.imports.sources import import_all
    from .helpers.output import print_json

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # leaves no half a run
    exit_code = 0
    imported = []
    for path in paths:
        try:
            for done in import_all(path):
                exit_code = max(exit_code, _print_result(done, as_json))
                if not done.error:
                    source = str(done.source.path)
                    imported.append({"id": done.run_id, "source": source, "rows": done.num_rows})
        except UsageError as error:  # the other paths may have runs
            exit_code = error.exit_code
            click.echo(harmless(f"operant: {error}"), err=True)
    if as_json:
        print_json(imported)
    return exit_code


def _print_result(done: Imported, as_json: bool) -> int:
    """Print the result of one source, as JSON only an error; returns an exit code."""
    from ..monitor.render.formatting import counted
    from .helpers.output import print_line

    place = done.source.path
    if done.error:
        click.echo(harmless(f"operant: {place} is not imported: {done.error}"), err=True)
        return done.error.exit_code
    if as_json:
        return 0
    if done.num_rows:
        print_line(f"{done.run_id}: {counted(done.num_rows, 'row')} from {place}")
        return 0
    again = f", which lacks a part of it: `operant rm {done.run_id}`, then import it again"
    print_line(f"{place} is imported already, as {done.run_id}{again if done.has_more else ''}")
    return 0
