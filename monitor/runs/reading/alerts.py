"""Alerts as the recorder has decided them: lines of `events.log`, never revised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

from ....shared import Event
from .file_tail import FileTail

Level = Literal["warning", "error"]

MARK = "alert: "
_LINE = re.compile(rf"(\S+)Z  (\w+) +{MARK}(.*?) (\{{.*\}})")
_MOST_CHARACTERS = 10_000  # of a line that can be an alert: no recorder writes a longer one
_MOST_NUMBERS = 8  # that an alert is said to rest on


@dataclass(frozen=True)
class Alert:
    """Something of a `kind` that began at publish number `publish`, by the clock at `wall_ns`;
    negative `env_steps` are none. `numbers` are those it was decided on.
    """

    level: Level
    text: str
    publish: int
    env_steps: int
    wall_ns: int
    metric: str = ""
    kind: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)

    def as_event(self) -> Event:
        """All of it as a message: `alert: KL spike of ... {"kind": "kl", ...}`."""
        about = {"kind": self.kind, "metric": self.metric, "publish": self.publish}
        about |= {"env_steps": self.env_steps, **self.numbers}
        text = f"{MARK}{self.text} {json.dumps(about)}"
        return Event(0, self.wall_ns, self.level, text, self.env_steps)


def alerts_in(lines: Iterable[str]) -> tuple[Alert, ...]:
    """The alerts among the lines of an `events.log`, oldest first; other lines are skipped."""
    possible = (line for line in lines if MARK in line and len(line) <= _MOST_CHARACTERS)
    found = {alert for line in possible if (alert := _alert_of(line))}
    return tuple(sorted(found, key=lambda alert: (alert.wall_ns, alert.publish, alert.text)))


class RecordedAlerts:
    """The alerts of one run, read as they are written."""

    def __init__(self, events_path: Path) -> None:
        self._tail = FileTail(events_path)
        self._lines: Sequence[str] = ()
        self._alerts: tuple[Alert, ...] = ()

    def read(self) -> tuple[Alert, ...]:
        """Equal to what was read before as long as there are no others."""
        lines = self._tail.read()
        if lines is not self._lines:
            self._lines, self._alerts = lines, alerts_in(lines)
        return self._alerts


def _alert_of(line: str) -> Alert | None:
    match = _LINE.fullmatch(line)
    if not match or match[2] not in get_args(Level):
        return None
    try:
        about: dict[str, Any] = json.loads(match[4])
        moment = datetime.fromisoformat(f"{match[1]}+00:00")
        kind, metric, publish, env_steps = (
            about.pop(name) for name in ("kind", "metric", "publish", "env_steps")
        )
    except (ValueError, KeyError, RecursionError):
        return None
    if not (isinstance(kind, str) and isinstance(metric, str)):
        return None
    if not (_is_count(publish) and _is_count(env_steps)):
        return None
    numbers = {
        name: value for name, value in about.items() if isinstance(value, float) or _is_count(value)
    }
    return Alert(
        "error" if match[2] == "error" else "warning",
        match[3],
        publish,
        env_steps,
        round(moment.timestamp() * 1e6) * 1000,
        metric,
        kind,
        dict(list(numbers.items())[:_MOST_NUMBERS]),
    )


def _is_count(value: Any) -> bool:
    """Whether it fits into 64 bits: a larger number could not be drawn."""
    return type(value) is int and -(1 << 63) <= value < 1 << 63
