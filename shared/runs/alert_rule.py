"""The user's alert rules: `loss/value > 1e3`, `episode/return < 100 after 1M`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import ConfigError
from ..text.harmless import one_line
from ..text.typed_numbers import typed_number

MOST_RULES = 100
MOST_CHARACTERS = 300  # of one

_RULE = re.compile(
    r"(?P<metric>[^<>=!]*?)\s*(?P<how>[<>=!]+)\s*(?P<limit>.*?)"
    r"(?:\s+after(?:\s+(?P<after>.*?))?(?:\s+(?:env[ _])?steps)?)?"
)
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
_EXAMPLE = "write it as loss/value > 1e3, or episode/return < 100 after 1M"


@dataclass(frozen=True)
class AlertRule:
    """An alert is due when `metric` exceeds `limit`, after `after_env_steps`. `text` is the rule as
    its author wrote it.
    """

    text: str
    metric: str
    how: str
    limit: float
    after_env_steps: float = 0.0

    def holds(self, value: float, env_steps: float) -> bool:
        """Whether the rule applies. Negative `env_steps` mean that the run has none: a rule with
        `after` then never applies.
        """
        is_time = not self.after_env_steps or env_steps >= self.after_env_steps
        return is_time and _COMPARISONS[self.how](value, self.limit)

    @property
    def is_upper(self) -> bool:
        """Whether the rule limits large values."""
        return self.how.startswith(">")

    def metric_of(self, names: Sequence[str]) -> str | None:
        """The metric of the rule among the `names` of a run. A name without a group matches the
        first metric with that ending: `return` means `episode/return`.
        """
        if self.metric in names:
            return self.metric
        if "/" in self.metric:
            return None
        return next((name for name in names if name.endswith(f"/{self.metric}")), None)


def parse_rule(text: str) -> AlertRule:
    """Parse a rule. Raises ConfigError, which names the rule and the mistake."""
    rule = f"alert rule '{one_line(text, 100)}'"
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(f"{rule} has {len(text)} characters; {MOST_CHARACTERS} are allowed")
    match = _RULE.fullmatch(one_line(text))
    if match is None:
        raise ConfigError(f"{rule} has no comparison; {_EXAMPLE}")
    if not match["metric"]:
        raise ConfigError(f"{rule} names no metric; {_EXAMPLE}")
    if match["how"] not in _COMPARISONS:
        raise ConfigError(
            f"{rule}: expected one of {', '.join(_COMPARISONS)}, got '{match['how']}'"
        )
    limit = typed_number(match["limit"])
    if limit is None or not math.isfinite(limit):
        number = f"'{match['limit']}' is not a number" if match["limit"] else "there is no number"
        raise ConfigError(f"{rule}: {number}; {_EXAMPLE}")
    after = 0.0
    if re.search(r"\safter\b", match[0][match.end("how") :]):
        given = typed_number(match["after"] or "")
        if given is None or not 0 <= given < math.inf:
            steps = one_line(match["after"] or "nothing", 100)
            raise ConfigError(f"{rule}: after '{steps}' is not a number of env steps, as 1M or 1e6")
        after = given
    return AlertRule(match[0], match["metric"], match["how"], limit, after)


def parse_rules(texts: Sequence[str]) -> tuple[tuple[AlertRule, ...], list[str]]:
    """The valid rules among `texts`, without duplicates, and a line about every invalid text."""
    rules: dict[str, AlertRule] = {}
    problems = []
    for text in texts[:MOST_RULES]:
        try:
            rule = parse_rule(text)
        except ConfigError as error:
            problems.append(str(error))
        else:
            rules.setdefault(rule.text, rule)
    if len(texts) > MOST_RULES:
        problems.append(f"{len(texts)} alert rules; the first {MOST_RULES} of them hold")
    return tuple(rules.values()), problems
