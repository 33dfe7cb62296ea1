"""From the text of a filter to its terms: the words, and what each asks for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ....shared.errors import nearest
from ....shared.text.harmless import one_line
from ....shared.text.typed_numbers import typed_number
from ..reading.conditions import symbols
from .run_values import NUMBERS, TYPED, WORDS

_EXPRESSION = r"/(?:\\.|[^/\\])*/"
_WORD = re.compile(rf"""(?:"[^"]*"|'[^']*'|(?<![^\s~:=-]){_EXPRESSION}(?=\s|$)|\S)+""")
_TERM = re.compile(
    r"""(?P<not>-?)(?P<key>"[^"]+"|'[^']+'|[^\s<>=:~!'"/-][^\s<>=:~!'"]*)"""
    r"(?P<how>>=|<=|!=|==|[:=<>~])(?P<value>.*)"
)
_PLAIN = re.compile(
    rf"(?P<not>-?)(?P<how>~?)(?P<value>{_EXPRESSION}|[^<>=!~()|&\"']+|\"[^\"]*\"|'[^']*')"
)
MAX_SEARCHED = 200  # characters of a text in which an expression is searched for
_ALSO_CALLED = {"env_steps": "steps"}
_ORDERS = (">", "<", ">=", "<=")
_STATES = [condition.word for condition in symbols()]
_ORS, _ANDS = ("or", "OR", "|", "||"), ("and", "AND", "&", "&&")


class FilterError(ValueError):
    """A filter is wrong; the text is one line."""


@dataclass(frozen=True)
class Term:
    """One condition: `key how value`. A plain word is one on the `name`; `how` is ~ where the value
    is a regular expression.
    """

    value: str
    key: str = "name"
    how: str = ":"
    is_negated: bool = False

    @property
    def is_order(self) -> bool:
        return self.how in _ORDERS

    @property
    def number(self) -> float | None:
        """The value as a number; None if it is not a number."""
        return TYPED.get(self.key, typed_number)(self.value)

    def __str__(self) -> str:
        return f"{self.key}{self.how}{self.value}"


Test = Callable[[str], bool]
Filter = tuple[tuple[Term, ...], ...]  # alternatives; all terms of one of them must hold


def parse_filter(text: str) -> Filter:
    """The terms of `text`, between words `or` those of each alternative. Raises FilterError where
    one cannot be understood.
    """
    alternatives: list[list[Term]] = [[]]
    for word in _joined(_WORD.findall(text)):
        if word in _ORS:
            if not alternatives[-1]:
                raise FilterError(f"'{word}' has no term before it")
            alternatives.append([])
        elif word not in _ANDS:
            alternatives[-1].append(_term(word))
    if len(alternatives) > 1 and not alternatives[-1]:
        raise FilterError("the last 'or' has no term after it")
    return tuple(tuple(terms) for terms in alternatives)


def words_filter(text: str) -> Test:
    """Whether the words of a filter hold for the name of a chart. Raises FilterError if the filter
    is not understood, or asks for more than words.
    """
    tests = [[_words_test(term) for term in terms] for terms in parse_filter(text)]
    return lambda searched: any(all(test(searched) for test in each) for each in tests)


def _words_test(term: Term) -> Test:
    if term.key != "name":
        raise FilterError(f"charts can be searched by words only, not by {term.key}")
    if term.how == "~":
        is_found = expression_test(term.value)
        return lambda searched: is_found(searched) != term.is_negated
    words = [word for word in term.value.lower().split(",") if word] or [","]
    is_wanted = (term.how != "!=") != term.is_negated
    return lambda searched: any(word in searched.lower() for word in words) == is_wanted


def _joined(words: list[str]) -> list[str]:
    """`return > 200` is one word."""
    terms: list[str] = []
    for word in words:
        follows = bool(terms) and terms[-1] not in (*_ORS, *_ANDS)
        if follows and (terms[-1][-1] in "<>=:~" or word[0] in "<>=!:" or word == "~"):
            terms[-1] += word
        else:
            terms.append(word)
    return terms


def _term(word: str) -> Term:
    if any(re.sub(rf"{_EXPRESSION}|\"[^\"]*\"|'[^']*'", "", word).count(mark) for mark in "\"'"):
        raise FilterError(f"{word} has no closing quotation mark")
    match = _TERM.fullmatch(word)
    if match is None:
        plain = _PLAIN.fullmatch(word)
        if plain is None or not _unquoted(plain["value"]):
            raise FilterError(f"{word} is not understood")
        return _checked(Term(plain["value"], "name", plain["how"] or ":", bool(plain["not"])), word)
    how = "=" if match["how"] == "==" else match["how"]
    key = _unquoted(match["key"])
    term = Term(match["value"], _ALSO_CALLED.get(key, key), how, bool(match["not"]))
    return _checked(term, word)


def _checked(term: Term, word: str) -> Term:
    """`term` with a bare value. Raises FilterError where it makes no sense whatever runs there
    are.
    """
    value, how, is_negated = term.value, term.how, term.is_negated
    if re.fullmatch(_EXPRESSION, value) and how in (":", "=", "!=", "~"):
        is_negated ^= how == "!="
        value, how = value[1:-1], "~"
    value = _unquoted(value)
    term = Term(value, term.key, how, is_negated)
    if not value:
        raise FilterError(f"{word} needs a value")
    if how == "~":
        _check_expression(term, word)
    elif (term.key in NUMBERS or term.is_order) and (term.key in WORDS or term.number is None):
        raise FilterError(f"{word} does not compare numbers")
    elif term.key == "archived" and not set(value.split(",")) <= {"yes", "no"}:
        raise FilterError(f"archived:{value} is unknown: expected archived:yes or archived:no")
    elif term.key == "state":
        for state in value.split(","):
            if not any(state and state in known for known in _STATES):
                raise FilterError(f"state:{state} is not a state{nearest(state, _STATES)}")
    return term


def _check_expression(term: Term, word: str) -> None:
    if term.key in NUMBERS:
        raise FilterError(f"{term.key} is a number, which {word} cannot search")
    expression_test(term.value)


@lru_cache(64)
def expression_test(expression: str) -> Test:
    """Whether a regular expression finds something in the first MAX_SEARCHED characters of a
    text, ignoring case. Raises FilterError if it is no regular expression.
    """
    try:
        with warnings.catch_warnings():  # of future versions of Python
            warnings.simplefilter("ignore")
            search = re.compile(expression, re.IGNORECASE).search
    except (re.error, OverflowError, RecursionError) as error:
        reason = one_line(str(error), 100)
        shown = one_line(expression, 60)
        raise FilterError(f"{shown} is no regular expression: {reason}") from None
    return lambda text: search(text[:MAX_SEARCHED]) is not None


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] else text
