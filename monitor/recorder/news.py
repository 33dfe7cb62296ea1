"""Messages to people about one run: its alerts, that it stalls, and how it ended."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Sequence

from ...shared import Event, Snapshot
from ...shared.runs.alert_rule import AlertRule, parse_rules
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus
from ..charts.charted_metrics import steps_name
from ..notify.message import Kind, Message, message_id, readable
from ..notify.settings import AlertSettings
from ..render.formatting import format_count, format_duration, format_value
from ..runs.reading.alerts import Alert
from .events_file import EventsFile, event_line, iso_time

STALL, RETURN = "stall", "episode/return"
# Whoever records or completes a run much later tells nobody what they know by then.
ALERT_IS_NEWS_S = 3600.0
END_IS_NEWS_S = 7 * 86_400.0


class News:
    """Makes messages of what a recorder comes to know, for `tell` to pass on."""

    def __init__(
        self,
        run: Run,
        own_rules: Sequence[str],
        events: EventsFile,
        settings: Callable[[], AlertSettings],
        tell: Callable[[Message], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`own_rules` are those of the run's configuration, `settings` the user's."""
        self._run, self._events, self._now = run, events, now
        self._settings, self._tell = settings, tell
        self._own_rules, self._own_problems = parse_rules(own_rules)
        self._stalled_s: float | None = None  # since when
        self._is_stall_sent = False
        self._life = ""

    def rules(self) -> tuple[AlertRule, ...]:
        """The run's and the user's, as they are now."""
        return tuple(dict.fromkeys((*self._own_rules, *self._settings().rules)))

    def problems(self) -> list[str]:
        """Lines about rules and settings that are left out."""
        return [*self._own_problems, *self._settings().problems]

    def take_alert(self, alert: Alert) -> None:
        # A stall has the time of the last publish, long before it counts as one.
        is_news_s = END_IS_NEWS_S if alert.kind == STALL else ALERT_IS_NEWS_S
        if time.time() - alert.wall_ns / 1e9 > is_news_s:
            return
        at = f" (at {format_count(alert.env_steps)} steps)" if alert.env_steps >= 0 else ""
        kind: Kind = "stall" if alert.kind == STALL else "alert"
        self._send(
            kind,
            f"alert {alert.kind} {alert.publish} {alert.wall_ns} {alert.text}",
            f"{alert.text}{at}",
            "stalled" if kind == "stall" else "running",
            alert.wall_ns,
            alert="" if kind == "stall" else alert.kind,
            metric=alert.metric,
            value=_finite(alert.numbers.get("value", math.nan)),
            env_steps=alert.env_steps if alert.env_steps >= 0 else None,
        )

    def take_status(self, status: RunStatus, life: str, newest: Snapshot | None) -> None:
        """How the run is doing now. `life` is its process, `newest` its last publish."""
        self._life = life or self._life
        if status.state == "stalled":
            self._take_stall(status, newest)
            return
        self._stalled_s, self._is_stall_sent = None, False
        if not status.is_alive:
            self._take_end(status, newest)

    def _take_stall(self, status: RunStatus, newest: Snapshot | None) -> None:
        """An alert once it has lasted: machines that sleep or swap are silent for a moment too."""
        if self._stalled_s is None:
            self._stalled_s = self._now()
        after_s = self._settings().stall_after_s
        is_due = self._now() - self._stalled_s >= after_s and not self._is_stall_sent
        if newest is None or not is_due:
            return
        self._is_stall_sent = True
        # As of the last publish: however long it lasts, and whoever finds it, it is one alert.
        text = f"stalled: no sign of life for {format_duration(after_s)} and more"
        alert = Alert("warning", text, newest.publish, newest.env_steps, newest.wall_ns, kind=STALL)
        try:
            is_new = bool(self._events.append([event_line(alert.as_event())]))
        except OSError:  # a full disk is no reason to be silent
            is_new = True
        if is_new:
            self.take_alert(alert)

    def _take_end(self, status: RunStatus, newest: Snapshot | None) -> None:
        wall_ns = newest.wall_ns if newest else time.time_ns()
        if time.time() - wall_ns / 1e9 > END_IS_NEWS_S:
            return
        is_bad = status.state in ("crashed", "failed")
        reached = _finite(status.metrics.get(RETURN, math.nan))
        self._send(
            "crash" if is_bad else "finish",
            f"end {self._life}",
            _end_in_words(status, reached),
            status.state,
            time.time_ns(),
            metric=RETURN if reached is not None else "",
            value=reached,
            env_steps=status.env_steps,
        )

    def _send(
        self,
        kind: Kind,
        what: str,
        text: str,
        state: str,
        wall_ns: int,
        *,
        alert: str = "",
        metric: str = "",
        value: float | None = None,
        env_steps: int | None = None,
    ) -> None:
        run = self._run
        name = run.manifest().get("name")
        self._tell(
            Message(
                message_id(run.id, what),
                kind,
                readable(run.id),
                readable(name) if isinstance(name, str) else "",
                readable(f"{run.id}: {text}"),
                state,
                iso_time(wall_ns),
                alert,
                readable(metric),
                value,
                env_steps,
                str(run.folder),
                socket.gethostname(),
            )
        )


def problem_line(text: str) -> str:
    """The line of `events.log` for a problem."""
    return event_line(Event(0, time.time_ns(), "warning", text))


def _end_in_words(status: RunStatus, reached: float | None) -> str:
    message = f": {status.message}" if status.message else ""
    steps = f"{format_count(status.env_steps)} {steps_name(status.metrics)}"
    at = f", at {steps}" if status.env_steps is not None else ""
    result = f", {RETURN} {format_value(reached)}" if reached is not None else ""
    return f"{status.state}{message}{at}{result}"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
