"""`operant sweep stop`: end a sweep in good order."""

from __future__ import annotations

import click

from ..helpers.candidates import sweeps


@click.command("stop")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=sweeps)
def command(name: str | None) -> None:
    """Stop a sweep: its runs finish their iterations and save checkpoints. Default: the latest
    sweep.

    `operant sweep --resume NAME` continues it. `operant stop RUN` stops a single run, and fails its
    trial.
    """
    from ...shared.processes.lock import lock_holder
    from ...shared.runs.sweep_folder import find_sweep
    from ..helpers.output import print_line
    from ..stop import stop_holder
    from .status import in_words

    sweep = find_sweep(name)
    if not sweep.is_held():
        print_line(f"{sweep.name} is not running: {in_words(sweep)}")
        return
    stop_holder(lambda: lock_holder(sweep.lock_path), f"sweep {sweep.name}")
    print_line(f"{sweep.name}: {in_words(sweep)}")
