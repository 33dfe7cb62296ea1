"""From the rows of a page to its alerts: decided as the rows come, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ...shared import History, Metric
from ...shared.runs.alert_rule import AlertRule
from ...shared.runs.status import ENV_STEPS_PER_S
from ..charts.charted_metrics import is_charted
from ..render.formatting import format_value
from ..runs.reading.alerts import Alert, Level
from .alert_kinds import (
    CollapsedEntropy,
    Finding,
    Kind,
    KlSpike,
    Point,
    SlowDecline,
    SlowSuddenly,
    Still,
)

ENTROPY, KL = "policy/entropy", "policy/approx_kl"
NO_NUMBER = "nan"
PAUSES = frozenset({"compiling", "evaluating", "saving", "restoring", "waiting"})


RULE = "rule"


class RuleHolds:
    """A rule that has come true. It counts again once it did not hold ten times in a row."""

    name = RULE
    CALM = 10

    def __init__(self, rule: AlertRule) -> None:
        self.rule = rule
        self._num_calm = self.CALM

    def had_been_found(self) -> None:
        self._num_calm = 0

    def was_found(self, alert: Alert) -> bool:
        """Whether an alert of a former recorder is one of this rule."""
        return alert.kind == self.name and alert.text.startswith(f"{self.rule.text}: ")

    def take(self, point: Point) -> Finding | None:
        if not self.rule.holds(point.value, point.env_steps):
            self._num_calm += 1
            return None
        is_new, self._num_calm = self._num_calm >= self.CALM, 0
        if not is_new:
            return None
        text = f"{self.rule.text}: it is {format_value(point.value)}"
        return Finding(text, {"value": point.value, "limit": self.rule.limit})


class AlertWatch:
    """Remembers of a run what is needed to decide on its next rows."""

    def __init__(self, silent_through: int = 0, sent: Sequence[Alert] = ()) -> None:
        """A former recorder has checked all rows up to `silent_through` and `sent` these alerts:
        they count as known, and are not sent again.
        """
        self._publish, self._silent_through = 0, silent_through
        self._still = Still()
        self._kinds: list[tuple[str, Kind]] = [
            (ENV_STEPS_PER_S, SlowSuddenly()),
            (ENV_STEPS_PER_S, SlowDecline()),
            (ENTROPY, CollapsedEntropy()),
            (KL, KlSpike()),
        ]
        known = {alert.kind for alert in sent}
        for kind in (self._still, *(kind for _, kind in self._kinds)):
            if kind.name in known:
                kind.had_been_found()
        self._no_numbers = {alert.metric for alert in sent if alert.kind == NO_NUMBER}
        self._sent = sent
        self._rules: list[RuleHolds] = []

    def follow(self, rules: Sequence[AlertRule]) -> None:
        """Decide by these rules as well from the next rows on, and by no others."""
        known = {kind.rule: kind for kind in self._rules}
        self._rules = [known.get(rule) or self._followed(rule) for rule in rules]

    def _followed(self, rule: AlertRule) -> RuleHolds:
        kind = RuleHolds(rule)
        if any(map(kind.was_found, self._sent)):
            kind.had_been_found()
        return kind

    def take(self, schema: Sequence[Metric], history: History, phase: str = "") -> list[Alert]:
        """Return the alerts of the rows that came since the last time, oldest first. `phase` is
        what the run does now.
        """
        new = history.since(int(np.searchsorted(history.publish, self._publish, side="right")))
        if not len(new):
            return []
        self._publish = int(new.publish[-1])
        found = [*self._bad_numbers(schema, new)]
        for name, kind in self._kinds:
            values = new.series(name).mean
            found += _found(kind, name, new, np.flatnonzero(np.isfinite(values)).tolist(), values)
        found += self._by_rules(schema, new)
        if phase in PAUSES:
            self._still.paused(float(new.elapsed_s[-1]))
        elif new.env_steps[-1] >= 0:
            found += _found(self._still, "", new, range(len(new)), new.env_steps)
        unseen = [alert for alert in found if alert.publish > self._silent_through]
        return sorted(unseen, key=lambda alert: (alert.publish, alert.text))

    def _by_rules(self, schema: Sequence[Metric], history: History) -> Iterable[Alert]:
        """In a row that stands for several publishes, the value that is furthest out counts."""
        names = [metric.name for metric in schema if metric.kind != "text"]
        for kind in self._rules:
            name = kind.rule.metric_of(names)
            if name is not None:
                series = history.series(name)
                values = series.high if kind.rule.is_upper else series.low
                rows = np.flatnonzero(np.isfinite(values)).tolist()
                yield from _found(kind, name, history, rows, values)

    def _bad_numbers(self, schema: Sequence[Metric], history: History) -> Iterable[Alert]:
        """The first time that each metric was NaN or infinite; of those in one row, one alert."""
        by_row: dict[int, list[str]] = {}
        for metric in schema:
            if metric.name in self._no_numbers or not is_charted(metric):
                continue
            gaps = history.gaps(history.series(metric.name))
            if gaps.any():
                self._no_numbers.add(metric.name)
                by_row.setdefault(int(gaps.argmax()), []).append(metric.name)
        for row, names in by_row.items():
            more = f" and {len(names) - 2} more" if len(names) > 2 else ""
            text = f"NaN or infinite: {', '.join(names[:2])}{more}"
            finding = Finding(text, {"metrics": len(names)})
            yield _alert("error", NO_NUMBER, names[0], finding, history, row)


def _found(
    kind: Kind, metric: str, history: History, rows: Iterable[int], values: np.ndarray
) -> Iterable[Alert]:
    for row in rows:
        moment = float(history.elapsed_s[row]), float(values[row]), float(history.env_steps[row])
        finding = kind.take(Point(*moment))
        if finding:
            yield _alert("warning", kind.name, metric, finding, history, row)


def _alert(
    level: Level, kind: str, metric: str, finding: Finding, history: History, row: int
) -> Alert:
    return Alert(
        level,
        finding.text,
        int(history.publish[row]),
        int(history.env_steps[row]),
        int(history.wall_s[row] * 1e9),
        metric,
        kind,
        finding.numbers,
    )
