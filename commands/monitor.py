"""`operant monitor`: watch runs."""

from __future__ import annotations

import sys

import click

from ..shared.errors import UsageError, nearest
from .choosing_a_run import chosen_run, run_argument


@click.command("monitor")
@run_argument
@click.option("--once", is_flag=True, help="Print one plain report and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and exit.")
@click.option("--follow", is_flag=True, help="With --json: a line per snapshot until the run ends.")
@click.option("--readonly", is_flag=True, help="No way to ask the trainer for anything.")
@click.option("--theme", metavar="NAME", help="dark, light, colour-blind, contrast or plain.")
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw with ASCII alone.")
def command(
    run: str | None,
    latest: bool,
    once: bool,
    as_json: bool,
    follow: bool,
    readonly: bool,
    theme: str | None,
    as_ascii: bool,
) -> None:
    """Watch a run from any terminal, or choose one from the list of all runs.

    RUN is a run's id or any part of it that no other run has. Leaving the monitor, or killing it,
    changes nothing for the run. `?` lists the keys.
    """
    if follow and not as_json:
        raise UsageError("--follow goes with --json")
    if follow:
        from .following import follow_run

        follow_run(chosen_run(run, latest))
        return
    if as_json:
        from ..shared.ranks import read_status
        from .output import print_json

        print_json(read_status(chosen_run(run, latest)).as_json())
        return
    if once:
        from .output import print_report

        print_report(chosen_run(run, latest))
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the monitor needs a terminal; use --once or --json without one")
    chosen = chosen_run(run, latest) if run or latest else None

    from ..monitor.app import watch

    watch(chosen, theme=known_theme(theme), is_ascii=as_ascii, is_readonly=readonly)


def known_theme(name: str | None) -> str | None:
    """`name`, if there is such a theme. Raises UsageError."""
    from ..monitor.palette import THEMES

    if name is not None and name not in THEMES:
        hint = nearest(name, THEMES)
        raise UsageError(f"--theme {name} is none{hint}; there are {', '.join(THEMES)}")
    return name
