"""A run's status as one aligned table: what it is, how it is doing, and its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...monitor.charts.charted_metrics import steps_name
from ...monitor.panels.run_table import notes_in_words
from ...monitor.render.columns import Column, table_lines
from ...monitor.render.formatting import (
    SHOWN_PHASES,
    format_age,
    format_count,
    format_left,
    format_percent,
    format_rate,
    format_written,
)
from ...monitor.runs.reading.conditions import phase_words

if TYPE_CHECKING:
    from ...shared.page.schema import Metric
    from ...shared.runs.run_folder import Run
    from ...shared.runs.run_notes import RunNotes
    from ...shared.runs.status import RunStatus

Fact = tuple[str, str]


def status_lines(
    status: RunStatus, notes: RunNotes, facts: Iterable[Fact] = (), schema: Iterable[Metric] = ()
) -> list[str]:
    """Lines of two or three columns, the metrics last; `facts` stand behind the state, units of the
    metrics in `schema` behind their values.
    """
    units = {metric.name: metric.unit for metric in schema}
    about = [*_state(status), *facts, *_told([("notes", notes_in_words(notes))])]
    rows = [*about, *_progress(status)]
    metrics = {name: format_written(value) for name, value in status.metrics.items()}
    width = max((len(value) for name, value in metrics.items() if units.get(name)), default=0)
    rows += [
        (name, f"{value:<{width}}  {unit}" if (unit := units.get(name)) else value)
        for name, value in metrics.items()
    ]
    columns = [Column[Fact]("", lambda row: row[0]), Column[Fact]("", lambda row: row[1])]
    return table_lines(columns, rows, None)[1:]


def facts_of(run: Run) -> list[Fact]:
    """What a run's folder says that it is."""
    manifest = run.manifest()
    config = manifest.get("config", {})
    facts = [(key, str(config.get(key, ""))) for key in ("env", "algorithm", "seed")]
    facts += [
        ("device", device_of(manifest)),
        ("began", str(manifest.get("created", "")).replace("T", " ").replace("Z", " UTC")),
        ("folder", str(run.folder)),
    ]
    return [(name, value[:400]) for name, value in facts if value]


def device_of(manifest: Mapping[str, Any]) -> str:
    """Where a run trains; empty where nothing says so."""
    device = manifest.get("device") or manifest.get("config", {}).get("device") or ""
    return str(device)[:40]


def _state(status: RunStatus) -> list[Fact]:
    facts = [("state", status.state), ("message", status.message)]
    if status.phase in SHOWN_PHASES:
        facts.append(("phase", phase_words(status)))
    return _told(facts)


def _progress(status: RunStatus) -> list[Fact]:
    age, fraction = status.age_s, status.progress_fraction
    known: Mapping[str, object] = {
        "last publish": None if age is None else f"{format_age(age)} ago",
        "iteration": status.iteration,
        steps_name(status.metrics): (
            None if status.env_steps is None else format_count(status.env_steps)
        ),
        "progress": None if fraction is None else format_percent(fraction),
        "speed": None if status.env_steps_per_s is None else format_rate(status.env_steps_per_s),
        "time left": format_left(status.eta_s).removesuffix(" left") or None,
    }
    return [(name, str(value)) for name, value in known.items() if value is not None]


def _told(facts: Iterable[Fact]) -> list[Fact]:
    return [(name, value) for name, value in facts if value]
