"""`operant record`: write a run's numbers to disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ..shared.runs.recorder_process import SINK_PACKAGES
from .command import Command
from .helpers.choosing_a_run import chosen_run, run_argument


@click.command("record", cls=Command, hidden=True)
@run_argument
@click.option(
    "--to",
    multiple=True,
    type=click.Choice(list(SINK_PACKAGES)),
    help="Send the rows to this sink too; may be repeated.",
)
@click.option("--prometheus-port", type=click.IntRange(1, 65535), help="The port for Prometheus.")
@click.option("--prometheus-address", help="Where Prometheus may connect. Default: 127.0.0.1.")
@click.option("--beside", is_flag=True, hidden=True, help="Started by the run itself.")
def command(run: str | None, beside: bool, **changed: Any) -> None:
    """Save a run's numbers to disk until it ends: rows.sqlite, events.log and a copy of its page.

    Every run starts a recorder of its own. Use this command if that recorder was killed; it
    continues where the old one stopped. For a run that has ended, it writes what is missing.
    Options that are not given come from the run's configuration. Ctrl-C ends the recorder, not the
    run.
    """
    from ..monitor.recorder.recording import LOCK_PATIENCE_S, record, recorder_lock
    from ..shared.errors import UsageError
    from ..shared.runs.recorder_process import RecorderSettings, lacking
    from ..shared.text.harmless import one_line
    from .helpers.output import print_line

    chosen = chosen_run(run)
    given = {name: value for name, value in changed.items() if value}
    settings = replace(RecorderSettings.of_run(chosen), **given)

    def say(text: str) -> None:
        click.echo(f"operant: warning: {one_line(text)}", err=True)

    if beside:
        record(chosen, recorder_lock(chosen, LOCK_PATIENCE_S), settings, say)
        return
    for missing in filter(None, map(lacking, given.get("to", ()))):
        raise UsageError(missing)
    lock = recorder_lock(chosen)
    print_line(f"{chosen.id}: recording to {chosen.folder}")
    status = record(chosen, lock, settings, say)
    print_line(f"{chosen.id}: {status.state}, recorded")
