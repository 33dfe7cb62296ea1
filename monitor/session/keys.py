"""Keys as people know them, and the help that lists them all."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from textual.binding import Binding, BindingType

from ..render.lines import Line, fit
from ..runs.reading.conditions import symbols

_NAMES = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "escape": "esc",
    "shift+left": "shift+←",
    "shift+right": "shift+→",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "pageup": "pgup",
    "pagedown": "pgdn",
}
_KEY_WIDTH = 16

Section = tuple[str, Iterable[BindingType]]


def key_name(keys: str) -> str:
    """The first of the keys of a binding, as people know it."""
    first = keys.split(",")[0]
    return _NAMES.get(first, first)


def key_under(keys: str, column: int) -> str:
    """The key that a click on `column` of some, as a screen names them, is meant for: of several
    characters the one there, the first of them beyond all; empty if there is no key.
    """
    known = {name: key for key, name in _NAMES.items()}
    names = (keys,) if keys in known or keys.isalpha() else tuple(keys)
    name = names[column] if column < len(names) else names[0]
    return "" if len(names) > 1 and name == "-" else known.get(name, name)


def key_rows(bindings: Iterable[BindingType]) -> list[tuple[str, str]]:
    """(keys, what they do), keys of the same purpose together."""
    rows: dict[str, list[str]] = {}
    for binding in bindings:
        assert isinstance(binding, Binding)
        keys = [_NAMES.get(key, key) for key in binding.key.split(",")]
        rows.setdefault(binding.description, []).extend(keys)
    return [(" ".join(keys), description) for description, keys in rows.items()]


def found_sections(sections: Iterable[Section], words: Sequence[str]) -> list[Section]:
    """The keys whose description, section or name has all `words` in it."""
    found: list[Section] = []
    for title, bindings in sections:
        fitting = []
        for binding in bindings:
            assert isinstance(binding, Binding)
            keys = " ".join(key_name(key) for key in binding.key.split(","))
            text = f"{title} {keys} {binding.description}".lower()
            if all(word.lower() in text for word in words):
                fitting.append(binding)
        if fitting:
            found.append((title, fitting))
    return found


def help_lines(sections: Iterable[Section], width: int) -> list[Line]:
    """All keys, section by section, and what the symbols of the states mean."""
    lines: list[Line] = []
    for title, bindings in sections:
        lines.append([(title, "focus")])
        for keys, description in key_rows(bindings):
            texts = textwrap.wrap(description, max(1, width - _KEY_WIDTH - 2))
            for key, text in zip_longest([keys], texts, fillvalue=""):
                lines.append([(f"  {fit(key, _KEY_WIDTH)}", "strong"), (text, "text")])
    if not lines:
        return []
    lines.append([("states", "focus")])
    row: Line = [("  ", "text")]
    for condition in symbols():
        if sum(len(text) for text, _ in row) + len(condition.word) + 4 > width:
            lines.append(row)
            row = [("  ", "text")]
        row += [(f"{condition.symbol} {condition.word}  ", condition.style)]
    return [*lines, row]
