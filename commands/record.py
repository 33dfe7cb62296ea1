"""`operant record`: keep a run's numbers on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ..shared.recorder_process import SINK_PACKAGES
from .choosing_a_run import chosen_run, run_argument
from .numbers import NumberRange


@click.command("record")
@run_argument
@click.option(
    "--to",
    multiple=True,
    type=click.Choice(list(SINK_PACKAGES)),
    help="Send the rows there as well; may be repeated.",
)
@click.option(
    "--every",
    "every_s",
    type=NumberRange(0.1, 3600),
    metavar="SECONDS",
    help="Time between two rows.",
)
@click.option("--prometheus-port", type=click.IntRange(1, 65535), help="Where Prometheus asks.")
@click.option("--prometheus-address", help="What Prometheus may reach; 127.0.0.1: this machine.")
@click.option("--beside", is_flag=True, hidden=True, help="Started by the run itself.")
def command(run: str | None, latest: bool, beside: bool, **changed: Any) -> None:
    """Keep a run's numbers on disk, until it ends: metrics.csv, events.log, a copy of its page.

    Every run starts a recorder of its own. This one goes on where that one was killed, and writes
    what is missing of a run that has ended. What is not given is as the run's configuration says.
    Ctrl-C ends the recorder, not the run.
    """
    from ..monitor.recorder.recording import LOCK_PATIENCE_S, record, recorder_lock
    from ..shared.errors import UsageError
    from ..shared.harmless import one_line
    from ..shared.recorder_process import RecorderSettings, lacking
    from .output import print_line

    chosen = chosen_run(run, latest)
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
