"""What is answered about runs: plain values of a bounded size, in harmless text."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ...monitor.charts.charted_metrics import RETURN
from ...monitor.panels.event_lines import with_alerts
from ...monitor.panels.hints import hint_of
from ...monitor.runs.list.filter_terms import FilterError, parse_filter
from ...monitor.runs.list.run_filter import filtered
from ...monitor.runs.list.runs_poller import RunRow, RunsPoller
from ...monitor.runs.reading.file_tail import FileTail
from ...monitor.runs.reading.run_description import RecordedManifest
from ...monitor.runs.reading.run_poller import look_once
from ...shared.errors import UsageError, nearest
from ...shared.page.events import LEVELS
from ...shared.page.schema import Metric
from ...shared.runs.find_runs import find_run, latest_run
from ...shared.runs.run_folder import Run
from ...shared.text.harmless import one_line
from ..helpers.status_lines import device_of

MAX_RUNS, MAX_METRICS, MAX_SETTINGS, MAX_EVENTS = 100, 300, 300, 200
MAX_CONSOLE_LINES = 500
MAX_NAME_CHARACTERS, MAX_TEXT_CHARACTERS, MAX_FILTER_CHARACTERS = 300, 1000, 1000

Answer = dict[str, Any]


class RunList:
    """All runs, those that ended looked at once; for any thread."""

    def __init__(self) -> None:
        self._poller, self._alone = RunsPoller(), threading.Lock()

    def rows(self) -> tuple[RunRow, ...]:
        """Newest first."""
        with self._alone:
            view = self._poller.poll()
            while not view.is_complete:
                view = self._poller.poll()
        return view.rows

    def answer(self, wanted: str, limit: int) -> Answer:
        """Those that a filter of the monitor's list leaves. Raises UsageError."""
        check_number("limit", limit, 1, MAX_RUNS)
        if len(wanted) > MAX_FILTER_CHARACTERS:
            raise UsageError(f"a filter may have up to {MAX_FILTER_CHARACTERS} characters")
        try:
            found = filtered(self.rows(), parse_filter(wanted))
        except FilterError as error:
            raise UsageError(str(error)) from None
        runs = [_in_list(row) for row in found[:limit]]
        return {"runs": runs, "num_found": len(found), "left_out": max(0, len(found) - limit)}


def run_of(wanted: str) -> Run:
    """The run of that id, name or part of either; the latest without one. Raises UsageError."""
    return find_run(wanted) if wanted else latest_run()


def status_answer(run: Run, contains: str = "") -> Answer:
    """How a run is doing, with the newest value of each metric whose name has `contains` in it."""
    view = look_once(run)
    manifest = run.manifest()
    config = manifest.get("config", {})
    units = {metric.name: metric for metric in view.schema}
    status = view.status.as_json(metrics=False)
    if ranks := status.pop("ranks", None):
        status["num_ranks"] = len(ranks)
    names = [name for name in view.status.metrics if contains in name]
    values = view.status.metrics
    hint = hint_of(view)
    return {
        **status,
        **view.notes.as_json(),
        "env": config.get("env"),
        "algorithm": config.get("algorithm"),
        "device": device_of(manifest),
        "began": manifest.get("created"),
        "folder": str(run.folder),
        "hint": hint.in_words() if hint else None,
        "metrics": [_metric(name, values[name], units.get(name)) for name in names[:MAX_METRICS]],
        "metrics_left_out": max(0, len(names) - MAX_METRICS),
    }


def config_answer(run: Run, contains: str = "") -> Answer:
    """The settings whose keys have `contains` in them and where each comes from, yours first; where
    that is not known, those with another value than the default. And how the run was started.
    """
    run.read_manifest()  # raises where it cannot be read
    _, described = RecordedManifest(run).read()
    found = [each for each in described.settings if contains in each.key]
    return {
        "run": run.id,
        "settings": [
            {"key": each.key, "value": each.value}
            | ({} if each.default is None else {"default": each.default})
            | ({"source": each.source} if each.source else {})
            for each in found[:MAX_SETTINGS]
        ],
        "settings_left_out": max(0, len(found) - MAX_SETTINGS),
        "started": {each.key: each.value for each in described.started[:50]},
        "knows_defaults": described.has_defaults,
    }


def events_answer(run: Run, level: str = "info", limit: int = 50, contains: str = "") -> Answer:
    """Messages and alerts from a level on, newest first. Raises UsageError."""
    check_number("limit", limit, 1, MAX_EVENTS)
    known: Sequence[str] = LEVELS
    if level not in known:
        raise UsageError(f"level = {level}{nearest(level, known)}; there are {', '.join(known)}")
    view = look_once(run)
    matching = [
        event
        for event in with_alerts(view.events, view.alerts)
        if known.index(event.level) >= known.index(level) and contains in event.text
    ]
    matching.reverse()
    events = [
        {"at": moment(event.wall_ns), "level": event.level, "text": event.text}
        | ({"env_steps": event.env_steps} if event.env_steps >= 0 else {})
        for event in matching[:limit]
    ]
    return {"run": run.id, "events": events, "left_out": max(0, len(matching) - limit)}


def console_answer(run: Run, limit: int = 50, contains: str = "", rank: int = 0) -> Answer:
    """The newest lines that a run's process printed, in their order. Raises UsageError."""
    check_number("limit", limit, 1, MAX_CONSOLE_LINES)
    lines = FileTail(run.console_path(rank)).read()
    found = [line for line in lines if contains in line]
    return {"run": run.id, "lines": found[-limit:], "left_out": max(0, len(found) - limit)}


def bounded(value: Any) -> Any:
    """`value` as it may go out: texts are single harmless lines, numbers such as JSON has."""
    if isinstance(value, Mapping):
        return {one_line(str(k), MAX_NAME_CHARACTERS): bounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    return one_line(str(value), MAX_TEXT_CHARACTERS)


def check_number(name: str, value: int, low: int, high: int) -> None:
    """Raises UsageError where it is not between the two."""
    if not low <= value <= high:
        raise UsageError(f"{name} = {value} is not between {low} and {high}")


def moment(wall_ns: int) -> str | None:
    """`2026-11-21T14:25:30Z`; None where no calendar has it."""
    try:
        at = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _in_list(row: RunRow) -> Answer:
    status = row.status
    if status is None:
        return {"run": row.run.id, "state": "unknown"}
    summary = status.as_json(metrics=False)
    names = ("run", "state", "message", "phase", "age_s", "iteration", "env_steps",
             "env_steps_per_s", "progress_fraction", "eta_s")  # fmt: skip
    of_run = {"return": status.metrics.get(RETURN), "device": row.device}
    of_config = {key: row.config.get(key) for key in ("env", "algorithm", "seed")}
    return {name: summary[name] for name in names} | of_run | of_config | row.notes.as_json()


def _metric(name: str, value: float, metric: Metric | None) -> Answer:
    answer: Answer = {"name": name, "value": value}
    if metric:
        extra = {"unit": metric.unit, "description": metric.description[:200]}
        answer |= {key: text for key, text in extra.items() if text}
    return answer
