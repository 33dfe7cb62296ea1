"""`operant runs`: all runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..shared.errors import UsageError
from .helpers.choosing_a_run import checked_hosts, host_option

if TYPE_CHECKING:
    from ..monitor.runs.list.runs_poller import RunRow
    from ..shared.runs.run_notes import RunNotes
    from ..shared.runs.status import RunStatus
    from .helpers.tables import Column

RETURN = "episode/return"


class Listed(NamedTuple):
    """A run in the list: how it is doing, what people wrote about it, and where it trains."""

    status: RunStatus
    notes: RunNotes
    device: str

    def as_json(self) -> dict[str, Any]:
        """The status with the return as its only metric, and the notes."""
        from ..shared.runs.status import json_value

        of_run = {"return": json_value(self.status.metrics.get(RETURN)), "device": self.device}
        return self.status.as_json(metrics=False) | of_run | self.notes.as_json()


@click.command("runs")
@host_option
@click.option("--archived", is_flag=True, help="List the archived runs, and no others.")
@click.option(
    "--filter",
    "words",
    metavar="WORDS",
    help="List only runs that the monitor's list would show with this filter, as in "
    "'state:finished ppo.learning_rate>1e-3'.",
)
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
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list.")
def command(
    hosts: tuple[str, ...],
    archived: bool,
    words: str | None,
    sort: str | None,
    as_json: bool,
    group_by: str | None,
    **of_groups: str | None,
) -> int:
    """List all runs and their states, newest first, but no archived ones.

    Age is the time since a run last wrote. The table is as wide as the terminal, and uncut when
    piped. --host adds the runs of other machines, as HOST:RUN. If a machine does not answer, its
    error goes to standard error, and the exit code is 1.
    """
    if archived and words:
        raise UsageError(
            "--archived and --filter exclude each other: write archived:yes in the filter"
        )
    for option, given in of_groups.items():
        if given and not group_by:
            raise UsageError(f"--{option} needs --group-by, as in `operant runs --group-by name`")
    if of_groups["at"] and hosts:
        raise UsageError("--at reads the rows of this machine's runs: it excludes --host")
    from ..shared.runs.find_runs import list_runs, no_runs_text
    from ..shared.runs.status import status_in_list
    from .helpers.output import print_json, print_line, warn
    from .helpers.status_lines import device_of
    from .helpers.tables import print_table

    if group_by or hosts or words or sort:
        rows, troubles = _rows(checked_hosts(hosts), archived, words)
        if not rows and not as_json:
            none = "no run is archived" if archived else no_runs_text()
            print_line("no run fits the filter" if words else none)
        elif group_by:
            _print_groups(rows, as_json, group_by, sort, **of_groups)
        else:
            _print_rows(rows, as_json, sort)
        for trouble in troubles:
            warn(trouble)
        return 1 if troubles else 0
    all_notes = {run: run.notes() for run in list_runs()}
    listed = [
        Listed(status_in_list(run), notes, device_of(run.manifest()))
        for run, notes in all_notes.items()
        if notes.is_archived == archived
    ]
    if as_json:
        print_json([one.as_json() for one in listed])
        return 0
    if not listed:
        left_out = f"all {len(all_notes)} runs are archived; `operant runs --archived` lists them"
        none = "no run is archived" if archived else left_out
        print_line(none if all_notes else no_runs_text())
        return 0
    print_table(columns_of(listed))
    return 0


def _rows(hosts: list[str], archived: bool, words: str | None) -> tuple[list[RunRow], list[str]]:
    """The runs of this machine and of `hosts` that fit the filter, and an error's line for each
    machine that does not answer. Raises UsageError if the filter is wrong.
    """
    from ..monitor.remote.remote_list import list_machines
    from ..monitor.runs.list.filter_terms import FilterError, parse_filter
    from ..monitor.runs.list.run_filter import filtered

    listed, troubles = list_machines(hosts)
    rows = [row for row in listed if row.status]
    if not words:
        return [row for row in rows if row.notes.is_archived == archived], troubles
    try:
        return filtered(rows, parse_filter(words)), troubles
    except FilterError as error:
        raise UsageError(f"--filter {words}: {error}") from None


def _print_rows(rows: list[RunRow], as_json: bool, sort: str | None) -> None:
    """Print the runs of this machine and of others, with what they are sorted by."""
    from ..monitor.runs.list.run_order import named_order, ordered, shown_value, value_text
    from ..monitor.runs.list.run_values import known_names
    from .helpers.output import print_json
    from .helpers.tables import Column, print_table

    order = named_order(sort, known_names(rows)) if sort and rows else "newest"
    rows = ordered(rows, order, False)
    listed = [(row.host, Listed(row.status, row.notes, row.device)) for row in rows if row.status]
    if as_json:
        print_json([one.as_json() | {"machine": host or None} for host, one in listed])
    else:
        named = [one._replace(notes=_named(host, one.notes)) for host, one in listed]
        columns, value = columns_of(named), shown_value(order)
        values = [value_text(row, order) for row in rows if row.status] if value else []
        print_table([columns[0], Column(value, values, ">"), *columns[1:]])


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
    from .helpers.output import print_json, warn
    from .helpers.tables import print_table

    env_steps = parse_env_steps("--at", at) if at else None
    found = group_statistics(rows, group_by, metric, baseline, env_steps) if rows else []
    order = named_order(sort, known_names(rows)) if sort and rows else "newest"
    metrics = [shown_value(order) or RETURN]
    found = ordered(found, order, False, lambda one: one.group.summary(metrics))
    num_behind = len(rows) - sum(len(one.group.rows) for one in found)
    if as_json:
        print_json([one.as_json() for one in found])
    else:
        print_table(group_columns(found))
    if num_behind:
        warn(f"{counted(num_behind, 'run')} left out: not yet at env step {at}")


def _named(host: str, notes: RunNotes) -> RunNotes:
    """With a name that other commands take as well, where people gave one."""
    return replace(notes, name=f"{host}:{notes.name}") if host and notes.name else notes


def columns_of(listed: Sequence[Listed]) -> list[Column]:
    """Those of the monitor's list, and what there is to say about a run."""
    from ..monitor.charts.charted_metrics import main_heading, main_metric
    from ..monitor.render.formatting import (
        UNKNOWN,
        format_age,
        format_count,
        format_percent,
        format_rate,
        format_written,
    )
    from ..monitor.runs.reading.conditions import condition_of
    from .helpers.status_lines import notes_in_words
    from .helpers.tables import Column

    statuses = [one.status for one in listed]
    conditions = [condition_of(status) for status in statuses]
    about = [
        "; ".join(filter(None, (condition.progress or condition.notice, notes_in_words(one.notes))))
        for condition, one in zip(conditions, listed, strict=True)
    ]
    mains = [main_metric(status.metrics) for status in statuses]
    heading = main_heading(mains)
    values = [
        format_written(status.metrics.get(main or RETURN))
        for status, main in zip(statuses, mains, strict=True)
    ]
    steps = [format_count(status.env_steps) for status in statuses]
    shares = [format_percent(status.progress_fraction) for status in statuses]
    speeds = [format_rate(status.env_steps_per_s) for status in statuses]
    names = [one.notes.name or one.status.run for one in listed]
    return [
        Column("run", names, least=20, differs_at_ends=True),
        Column("state", [condition.word for condition in conditions]),
        Column("age", [format_age(s.age_s) for s in statuses], ">", goes_at=3),
        Column("steps", steps, ">", goes_at=4),
        Column("progress", shares, ">", goes_at=2),
        Column("speed", speeds, ">", goes_at=1),
        Column(
            RETURN if heading == "return" else heading, values, ">", least=max(6, *map(len, values))
        ),
        Column("of", mains if heading == "metric" else [], goes_at=3),
        Column("device", [one.device or UNKNOWN for one in listed], goes_at=5),
        Column("about", about, least=16, goes_at=6),
    ]
