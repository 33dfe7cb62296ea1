"""`operant monitor`: watch runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ..shared.errors import UsageError, nearest
from .choosing_a_run import chosen_run, run_argument

if TYPE_CHECKING:
    from ..monitor.settings import Settings


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
    from ..monitor.settings import settings_path

    watch(chosen, remembered_settings(theme, as_ascii), settings_path(), is_readonly=readonly)


def remembered_settings(theme: str | None, as_ascii: bool) -> Settings:
    """Those of the last session, with what the command line asks for. Raises UsageError."""
    from ..monitor.ascii import needs_ascii
    from ..monitor.palette import THEMES
    from ..monitor.settings import load_settings, settings_path

    settings, _ = load_settings(settings_path())
    if theme is not None and theme not in THEMES:
        hint = nearest(theme, THEMES)
        raise UsageError(f"--theme {theme} is none{hint}; there are {', '.join(THEMES)}")
    return settings.for_session(theme, as_ascii or needs_ascii())
