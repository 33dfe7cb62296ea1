"""`operant runs`: all runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..shared.errors import UsageError
from .command import Command, json_option
from .helpers.choosing_a_run import checked_hosts, host_option

if TYPE_CHECKING:
    from ..monitor.runs.list.runs_poller import RunRow

RETURN = "episode/return"


@click.command("runs", cls=Command)
@click.argument("words", nargs=-1, metavar="[FILTER]...")
@host_option
@click.option("--sweeps", is_flag=True, help="List the sweeps instead, the newest first.")
@click.option(
    "--group-by",
    metavar="name|KEY",
    help="Print statistics of groups: of runs that differ in their seed only (name), or that share "
    "the value of a configuration key.",
)
@click.option(
    "--metric",
    metavar="NAME",
    help="With --group-by: the metric. Default: the return, or the group's main metric.",
)
@click.option(
    "--baseline",
    metavar="GROUP|RUN",
    help="With --group-by: compare the means with that of this group or run, in percent of it.",
)
@click.option(
    "--at",
    metavar="STEPS",
    help="With --group-by: take the values at this env step, as 100k. Default: the newest values.",
)
@click.option(
    "--sort",
    metavar="NAME",
    help="Print the highest value of NAME first: a column of the monitor's list, a setting or a "
    "metric, of which the last part is enough, as learning_rate.",
)
@json_option
def command(
    words: tuple[str, ...],
    hosts: tuple[str, ...],
    sweeps: bool,
    sort: str | None,
    as_json: bool,
    group_by: str | None,
    **of_groups: str | None,
) -> int:
    """List runs and their states, newest first, or compare groups.

    FILTER is a filter of the monitor's list, as in `operant runs state:finished tag:baseline` or
    `operant runs 'ppo.learning_rate>1e-3'`; archived:yes lists archived runs, which are left out
    else. Age is the time since a run last wrote. The table is as wide as the terminal, and uncut
    when piped. --host adds the runs of other machines, as HOST:RUN. If a machine does not answer,
    its error goes to standard error, and the exit code is 1.
    """
    if sweeps:
        if words or hosts or sort or group_by:
            raise UsageError(
                "--sweeps lists all sweeps of this machine, and excludes all but --json"
            )
        from .sweep.status import print_sweeps

        print_sweeps(as_json)
        return 0
    for option, given in of_groups.items():
        if given and not group_by:
            raise UsageError(f"--{option} needs --group-by, as in `operant runs --group-by name`")
    if of_groups["at"] and hosts:
        raise UsageError("--at reads the rows of this machine's runs: it excludes --host")
    from ..shared.runs.find_runs import no_runs_text
    from .helpers.output import print_line, warn

    rows, troubles = _rows(checked_hosts(hosts))
    kept = filtered_rows(rows, "", " ".join(words))
    if kept or as_json:
        if group_by:
            _print_groups(kept, as_json, group_by, sort, **of_groups)
        else:
            _print_rows(kept, as_json, sort, hosts)
    elif words:
        print_line("no run fits the filter")
    elif rows:
        all_runs = f"all {len(rows)} runs are archived"
        print_line(f"{all_runs}; `operant runs archived:yes` lists them")
    else:
        print_line(no_runs_text())
    for trouble in troubles:
        warn(trouble)
    return 1 if troubles else 0


def _rows(hosts: list[str]) -> tuple[list[RunRow], list[str]]:
    """The runs of this machine and of `hosts`, newest first, and an error's line for each machine
    that does not answer.
    """
    if hosts:
        from ..monitor.remote.remote_list import list_machines

        listed, troubles = list_machines(hosts)
    else:  # without what only other machines need, which takes as long to import as all the rest
        from ..monitor.runs.list.runs_poller import RunsPoller, all_rows

        listed, troubles = all_rows(RunsPoller().poll), []
    return [row for row in listed if row.status], troubles


def filtered_rows(rows: list[RunRow], option: str, words: str) -> list[RunRow]:
    """The rows that fit a filter, which an `option` gave. Raises UsageError if it is wrong."""
    from ..monitor.runs.list.filter_terms import FilterError, parse_filter
    from ..monitor.runs.list.run_filter import filtered

    try:
        return filtered(rows, parse_filter(words))
    except FilterError as error:
        raise UsageError(f"{option} {words}: {error}".lstrip()) from None


def _print_rows(rows: list[RunRow], as_json: bool, sort: str | None, hosts: Sequence[str]) -> None:
    """Print runs in the columns of the monitor's list."""
    from ..monitor.charts.charted_metrics import main_heading, main_metric
    from ..monitor.panels.run_table import run_columns
    from ..monitor.runs.list.run_order import named_order, ordered
    from ..monitor.runs.list.run_values import known_names
    from .helpers.output import print_json, print_table

    order = named_order(sort, known_names(rows)) if sort and rows else "newest"
    rows = ordered(rows, order, False)
    if as_json:
        print_json([_as_json(row) for row in rows])
    else:
        main = main_heading(main_metric(row.status.metrics) for row in rows if row.status)
        print_table(run_columns(order, hosts, main), rows)


def _as_json(row: RunRow) -> dict[str, Any]:
    from .helpers.output import run_json

    assert row.status
    run = None if row.host else row.run
    return run_json(row.status, row.notes, run, host=row.host or None, device=row.device)


def _print_groups(
    rows: list[RunRow],
    as_json: bool,
    group_by: str,
    sort: str | None,
    metric: str | None,
    baseline: str | None,
    at: str | None,
) -> None:
    """Print statistics of groups, of a metric's newest values or of those `at` an env step."""
    from ..monitor.render.formatting import counted
    from ..monitor.runs.list.run_order import named_order, ordered, shown_value
    from ..monitor.runs.list.run_values import known_names
    from .helpers.group_table import group_columns, group_statistics
    from .helpers.numbers import parse_env_steps
    from .helpers.output import print_json, print_table, warn

    env_steps = parse_env_steps("--at", at) if at else None
    found = group_statistics(rows, group_by, metric, baseline, env_steps) if rows else []
    order = named_order(sort, known_names(rows)) if sort and rows else "newest"
    metrics = [shown_value(order) or RETURN]
    found = ordered(found, order, False, lambda one: one.group.summary(metrics))
    num_behind = len(rows) - sum(len(one.group.rows) for one in found)
    if as_json:
        print_json([one.as_json() for one in found])
    else:
        print_table(group_columns(found), found)
    if num_behind:
        warn(f"{counted(num_behind, 'run')} left out: not yet at env step {at}")
