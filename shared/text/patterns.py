"""Regular expressions that people or programs give, searched for in time that grows with the text
alone: no expression, not even `(a+)+$`, stops a screen or a server.

Python's own matcher tries one way after the other, and nested repeats have more ways than can be
tried. This one follows all ways at once (Thompson 1968, doi:10.1145/363347.363387). It knows all of
Python's syntax except references to groups, lookahead and lookbehind.
"""

from __future__ import annotations

import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._constants as ops  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

MAX_STATES, MAX_TEXT = 500, 4000  # characters beyond are not searched
SIMPLE_REPEATS, SIMPLE_TEXT = 2, 300
_ATOMS = (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN)
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT)


class PatternError(ValueError):
    """An expression cannot be searched; the text ends a line that begins with `EXPRESSION is`."""


@lru_cache(64)
def pattern(expression: str, flags: int = re.IGNORECASE) -> Pattern:
    """Raises PatternError. What Python would say about its future goes nowhere: it would stand
    across the screen.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Pattern(parser.parse(expression, flags))
    except re.error as error:
        raise PatternError(f"no regular expression: {error.msg}") from None
    except (OverflowError, RecursionError):
        raise PatternError("more than can be searched for") from None


class Pattern:
    """States, each of which leads to others: by a character, at a place in the text, or at once."""

    def __init__(self, parsed: Any) -> None:
        self._end = 0
        self._steps: list[tuple[Any, Any, list[int]]] = [("end", None, [])]
        self._is_match: dict[tuple[Any, str], bool] = {}
        self._start = self._add_all(parsed, self._end, parsed.state.flags)
        # Python's own is faster, and cannot take long where there is little to choose.
        is_simple = _num_repeats(parsed) <= SIMPLE_REPEATS
        self._simple = compiler.compile(parsed, parsed.state.flags) if is_simple else None

    def search(self, text: str) -> bool:
        """Whether the expression is found anywhere in `text`."""
        if self._simple and len(text) <= SIMPLE_TEXT:
            return self._simple.search(text) is not None
        text = text[:MAX_TEXT]
        states: set[int] = set()
        for place in range(len(text) + 1):
            states = self._reached([*states, self._start], text, place)
            if self._end in states:
                return True
            if place < len(text):
                states = {
                    self._steps[state][2][0]
                    for state in states
                    if self._steps[state][0] == "atom"
                    and self._fits(self._steps[state][1], text[place])
                }
        return False

    def _reached(self, states: Iterable[int], text: str, place: int) -> set[int]:
        """All states that `states` lead to without another character."""
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in reached:
                continue
            reached.add(state)
            kind, what, following = self._steps[state]
            if kind == "split" or (kind == "at" and _is_at(what[0], what[1], text, place)):
                waiting += following
        return reached

    def _fits(self, atom: re.Pattern[str], character: str) -> bool:
        key = atom, character
        if key not in self._is_match:
            self._is_match[key] = atom.match(character) is not None
        return self._is_match[key]

    def _add(self, kind: str, what: Any, following: list[int]) -> int:
        if len(self._steps) >= MAX_STATES:
            raise PatternError("more than can be searched for")
        self._steps.append((kind, what, following))
        return len(self._steps) - 1

    def _add_all(self, parsed: Any, following: int, flags: int) -> int:
        """The first state of a sequence that leads to the state `following`."""
        for op, value in reversed(list(parsed)):
            following = self._add_one(op, value, following, flags)
        return following

    def _add_one(self, op: Any, value: Any, following: int, flags: int) -> int:
        if op in _ATOMS:
            state = parser.State()  # with the flags of this place, and no others
            state.flags = flags
            atom = compiler.compile(parser.SubPattern(state, [(op, value)]), flags)
            return self._add("atom", atom, [following])
        if op is ops.AT:
            return self._add("at", (value, flags), [following])
        if op is ops.BRANCH:
            ways = [self._add_all(way, following, flags) for way in value[1]]
            return self._add("split", None, ways)
        if op is ops.SUBPATTERN:
            _, added, removed, inner = value
            return self._add_all(inner, following, (flags | added) & ~removed)
        if op in _REPEATS:
            fewest, most, inner = value
            return self._add_repeat(fewest, most, inner, following, flags)
        raise PatternError("not possible here: it refers to a group or looks ahead or behind")

    def _add_repeat(self, fewest: int, most: Any, inner: Any, following: int, flags: int) -> int:
        if most is ops.MAXREPEAT:
            ways = [following]
            start = self._add("split", None, ways)
            ways.append(self._add_all(inner, start, flags))
        else:
            start = following
            for _ in range(most - fewest):
                ways = [following, self._add_all(inner, start, flags)]
                start = self._add("split", None, ways)
        for _ in range(fewest):
            start = self._add_all(inner, start, flags)
        return start


def _num_repeats(parsed: Any) -> int:
    """Choices that a matcher has to try: repeats of one character, and alternatives; far more than
    are allowed where a repeat has anything else inside.
    """
    num = 0
    for op, value in parsed:
        if op is ops.SUBPATTERN:
            num += _num_repeats(value[-1])
        elif op is ops.BRANCH:
            num += 1 + sum(_num_repeats(way) for way in value[1])
        elif op in _REPEATS:
            is_one = len(value[2]) == 1 and value[2][0][0] in _ATOMS
            num += 1 if is_one else SIMPLE_REPEATS + 1
    return num


def _is_at(where: Any, flags: int, text: str, place: int) -> bool:
    """Whether an assertion, as `^` or a word's boundary, holds at a place of `text`."""
    is_multiline = bool(flags & re.MULTILINE)
    if where is ops.AT_BEGINNING and is_multiline:
        return place == 0 or text[place - 1] == "\n"
    if where in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
        return place == 0
    if where is ops.AT_END and place < len(text):
        return text[place] == "\n" and (is_multiline or place == len(text) - 1)
    if where in (ops.AT_END, ops.AT_END_STRING):
        return place == len(text)
    before = place > 0 and _is_word(text[place - 1], flags)
    after = place < len(text) and _is_word(text[place], flags)
    return (before != after) == (where is ops.AT_BOUNDARY)


def _is_word(character: str, flags: int) -> bool:
    return re.match(r"\w", character, flags & re.ASCII) is not None
