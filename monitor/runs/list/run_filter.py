"""The words people type to see some of the runs.

Every term must hold, of one of the parts between `or`:

    cart            the run's name has it             -cart        it has not
    /seed[12]$/     a regular expression finds something in its name; so does ~seed[12]$
    state:running   the state, or one of several: state:running,stalled
    device:cuda     where it trains                   name~^cart   a regular expression again
    tag:baseline    that people gave it               note:wide    in what they wrote about it
    archived:yes    those that are archived, which are left out else; archived:yes,no all
    machine:gpu-a   whose runs are listed as well; machine:here for this one
    return>400      return, speed, steps, age, done (in percent): steps>=10M age<2h
    ppo.learning_rate>1e-3    a value of its configuration; the end of the key will do
    env:cart                  has the word in it; env=cart_pole: is just that; seed:1,2,3
    loss/value<10             the newest value of a metric
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Sequence

from .filter_terms import Filter, FilterError, Term, expression_test, parse_filter
from .run_values import NUMBERS, STAMP, WORDS, Known, known_names, metric_of
from .runs_poller import RunRow

Test = Callable[[RunRow], bool]

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip


def filtered(rows: Sequence[RunRow], wanted: Filter) -> list[RunRow]:
    """The rows for which every term of an alternative holds. Raises FilterError where a term asks
    for what no run has.
    """
    asked = [term for terms in wanted for term in terms]
    known = Known((), ())
    if any(term.key not in WORDS and term.key not in NUMBERS for term in asked):
        known = known_names(rows)
    # Of runs that were not looked at yet nothing is known: what they have may still come.
    is_all_known = bool(rows) and all(row.status for row in rows)
    tests = [[_test(term, rows, known, is_all_known) for term in terms] for terms in wanted]
    shown = listed(rows, wanted)
    return [row for row in shown if any(all(test(row) for test in each) for each in tests)]


def listed(rows: Sequence[RunRow], wanted: Filter = ()) -> list[RunRow]:
    """Without those that people archived, unless a term asks for them."""
    if any(term.key == "archived" for terms in wanted for term in terms):
        return list(rows)
    return [row for row in rows if not row.notes.is_archived]


def _test(term: Term, rows: Sequence[RunRow], known: Known, is_all_known: bool) -> Test:
    holds = _plain_test(term, rows, known, is_all_known)
    return (lambda row: not holds(row)) if term.is_negated else holds


def _plain_test(term: Term, rows: Sequence[RunRow], known: Known, is_all_known: bool) -> Test:
    if term.key in WORDS:
        return _words_test(term)
    if term.key in NUMBERS:
        number_of = NUMBERS[term.key]
        return lambda row: _compares(number_of(row), term.how, term.number)
    keys, metrics = known.config_keys(term.key), known.metric_names(term.key)
    if keys:
        if is_all_known and term.is_order and not _has_number(rows, keys):
            raise FilterError(f"{term} does not compare numbers: '{keys[0]}' is a word")
        return lambda row: any(_fits(row.config[key], term) for key in keys if key in row.config)
    if metrics:
        if term.number is None or term.how == "~":
            raise FilterError(f"{term} does not compare numbers: '{metrics[0]}' is a metric")
        return lambda row: _compares(metric_of(row, metrics), term.how, term.number)
    if is_all_known:
        raise FilterError(f"no run has '{term.key}'{known.near(term.key)}")
    return lambda row: False


def _words_test(term: Term) -> Test:
    text_of = WORDS[term.key]
    if term.how == "~":
        is_found = expression_test(term.value)
        if term.key == "name":  # as it is, and as narrow lists show it
            return lambda row: any(
                is_found(name)
                for name in (row.notes.name, row.run.id, STAMP.sub("", row.run.id), row.given_name)
            )
        return lambda row: is_found(text_of(row))
    words = [word for word in term.value.lower().split(",") if word] or [","]
    is_wanted = term.how != "!="
    if term.key == "tag":  # a whole one
        return lambda row: any(row.notes.has_tag(word) for word in words) == is_wanted
    return lambda row: any(word in text_of(row).lower() for word in words) == is_wanted


def _has_number(rows: Sequence[RunRow], keys: Sequence[str]) -> bool:
    return any(_is_number(row.config.get(key)) for row in rows for key in keys)


def _is_number(value: object) -> bool:
    """Whether `value` is a number that fits into a float: a file may hold any."""
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _fits(value: object, term: Term) -> bool:
    """Numbers compare as numbers, all else as words; `:` and `=` take several, with commas."""
    if term.how == "~":
        return expression_test(term.value)(str(value))
    if term.is_order:
        return _is_number(value) and _compares(float(value), term.how, term.number)  # type: ignore[arg-type]
    choices = dict.fromkeys([term.value, *filter(None, term.value.split(","))])
    is_found = any(_is(value, choice, term.how == ":") for choice in choices)
    return is_found != (term.how == "!=")


def _is(value: object, wanted: str, is_part_enough: bool) -> bool:
    number = Term(wanted).number
    if _is_number(value) and number is not None:
        return math.isclose(float(value), number, rel_tol=1e-9)  # type: ignore[arg-type]
    text = str(value).lower()
    return wanted.lower() in text if is_part_enough else wanted.lower() == text


def _compares(number: float | None, how: str, wanted: float | None) -> bool:
    """Nothing holds of a number that is not known."""
    if number is None or wanted is None or math.isnan(number):
        return False
    if how in _COMPARISONS:
        return _COMPARISONS[how](number, wanted)
    return math.isclose(number, wanted, rel_tol=1e-9) != (how == "!=")


class ListFilter:
    """The filter as it is typed: its text, and the last text that was understood, which holds while
    the text is not.
    """

    def __init__(self) -> None:
        self.text = ""
        self._understood: Filter = ((),)

    def found(self, rows: Sequence[RunRow]) -> tuple[list[RunRow], str]:
        """The runs that it leaves, and what is wrong with it: then those that the last one left
        which was understood.
        """
        try:
            wanted = parse_filter(self.text)
            found = filtered(rows, wanted)
        except FilterError as error:
            try:
                return filtered(rows, self._understood), str(error)
            except FilterError:  # the runs that had what it asks for are gone
                return listed(rows), str(error)
        self._understood = wanted
        return found, ""

    def listed(self, rows: Sequence[RunRow]) -> list[RunRow]:
        """The rows to search: archived runs too, where the filter asks for them."""
        return listed(rows, self._understood)
