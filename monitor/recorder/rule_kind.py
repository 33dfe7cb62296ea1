"""The alerts that people asked for, decided like all others."""

from __future__ import annotations

from ...shared.alert_rule import AlertRule
from ..look.formatting import format_value
from ..runs.alerts import Alert
from .alert_kinds import Finding, Point

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

    def was_found(self, told: Alert) -> bool:
        """Whether an alert of a former recorder is one of this rule."""
        return told.kind == self.name and told.text.startswith(f"{self.rule.text}: ")

    def take(self, point: Point) -> Finding | None:
        if not self.rule.holds(point.value, point.env_steps):
            self._num_calm += 1
            return None
        is_new, self._num_calm = self._num_calm >= self.CALM, 0
        if not is_new:
            return None
        text = f"{self.rule.text}: it is {format_value(point.value)}"
        return Finding(text, {"value": point.value, "limit": self.rule.limit})
