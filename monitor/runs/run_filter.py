"""The words people type to see some of the runs.

Every term must hold:

    cart            the run's name has it             -cart        it has not
    state:running   the state, or one of several: state:running,stalled
    device:cuda     where it trains                   name:long    in its name
    return>400      return, speed, steps, age (in seconds), done (in percent)
    ppo.learning_rate>1e-3    a value of its configuration; the end of the key will do
    env:cart_pole             the same for words and for equal numbers
"""

from __future__ import annotations

import math
import operator
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...shared.errors import nearest
from .conditions import condition_of, symbols
from .run_summary import RETURN
from .runs_poller import RunRow

_TERM = re.compile(r"(?P<not>-?)(?P<key>[A-Za-z_][\w.]*)(?P<how>>=|<=|!=|[:=<>])(?P<value>.*)")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
    "=": operator.eq, ":": operator.eq, "!=": operator.ne,
}  # fmt: skip
_STATES = [condition.word for condition in symbols()]
_WORDS: dict[str, Callable[[RunRow], str]] = {
    "state": lambda row: condition_of(row.status, row.is_page_expected).word if row.status else "",
    "device": lambda row: row.device,
    "name": lambda row: row.run.id,
}
_NUMBERS: dict[str, Callable[[RunRow], float | None]] = {
    "return": lambda row: row.status.metrics.get(RETURN) if row.status else None,
    "speed": lambda row: row.status.env_steps_per_s if row.status else None,
    "steps": lambda row: row.status.env_steps if row.status else None,
    "age": lambda row: row.status.age_s if row.status else None,
    "done": lambda row: (
        None
        if row.status is None or row.status.progress_fraction is None
        else 100 * row.status.progress_fraction
    ),
}


class FilterError(ValueError):
    """What is wrong with a filter, in one line."""


@dataclass(frozen=True)
class Term:
    """One condition: `key how value`; a plain word has no key."""

    value: str
    key: str = ""
    how: str = ":"
    is_negated: bool = False

    def holds(self, row: RunRow) -> bool:
        return self._holds(row) != self.is_negated

    def _holds(self, row: RunRow) -> bool:
        if not self.key:
            return self.value.lower() in row.run.id.lower()
        if self.key in _WORDS:
            text = _WORDS[self.key](row).lower()
            found = any(word in text for word in self.value.lower().split(",") if word)
            return found != (self.how == "!=")
        if self.key in _NUMBERS:
            number = _NUMBERS[self.key](row)
            return number is not None and _compares(number, self.how, float(self.value))
        values = [v for key, v in row.config.items() if _is_key(key, self.key)]
        return any(_fits(value, self.how, self.value) for value in values)


def parse_filter(text: str) -> tuple[Term, ...]:
    """The terms of `text`. Raises FilterError where one cannot be understood."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise FilterError(f"a quotation mark is missing in {text}") from None
    return tuple(_term(word) for word in words)


def filtered(rows: Sequence[RunRow], terms: Sequence[Term]) -> list[RunRow]:
    """The rows for which every term holds. Raises FilterError where a term asks for a key that no
    run has.
    """
    keys = {key for row in rows for key in row.config}
    for term in terms:
        known = [*_WORDS, *_NUMBERS, *sorted(keys)]
        is_config = term.key and term.key not in known
        if is_config and keys and not any(_is_key(key, term.key) for key in keys):
            hint = nearest(term.key, [*known, *(key.rpartition(".")[2] for key in keys)])
            raise FilterError(f"no run has '{term.key}'{hint}")
    return [row for row in rows if all(term.holds(row) for term in terms)]


def _term(word: str) -> Term:
    match = _TERM.fullmatch(word)
    if match is None:
        is_negated = word.startswith("-") and len(word) > 1
        return Term(word[1:] if is_negated else word, is_negated=is_negated)
    key, how, value = match["key"], match["how"], match["value"]
    if not value:
        raise FilterError(f"{word} lacks a value")
    is_number = key in _NUMBERS or how in ("<", ">", "<=", ">=")
    if is_number and (key in _WORDS or not _is_number(value)):
        raise FilterError(f"{word} does not compare numbers")
    if key == "state":
        for state in value.split(","):
            if not any(state and state in known for known in _STATES):
                raise FilterError(f"state:{state} is no state{nearest(state, _STATES)}")
    return Term(value, key, how, bool(match["not"]))


def _is_key(key: str, wanted: str) -> bool:
    """Whether `wanted` is `key` or its end: `learning_rate` for `ppo.learning_rate`."""
    return key == wanted or key.endswith(f".{wanted}")


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _fits(value: object, how: str, wanted: str) -> bool:
    """Numbers compare as numbers, all else as words."""
    if isinstance(value, int | float) and not isinstance(value, bool) and _is_number(wanted):
        return _compares(float(value), how, float(wanted))
    if how in ("<", ">", "<=", ">="):
        return False
    return (wanted.lower() in str(value).lower()) != (how == "!=")


def _compares(number: float, how: str, wanted: float) -> bool:
    if how in (":", "=", "!="):
        return math.isclose(number, wanted, rel_tol=1e-9) != (how == "!=")
    return _COMPARISONS[how](number, wanted)
