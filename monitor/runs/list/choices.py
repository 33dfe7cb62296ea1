"""Things to choose from by typing a part of their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Choice(NamedTuple):
    """Something to choose: what it is kept as, what people read, and a word on it."""

    value: str
    name: str
    note: str = ""


def chosen(choices: Iterable[Choice], words: str) -> list[Choice]:
    """The choices whose names contain all of `words`, best match first; all if `words` is empty."""
    wanted = words.lower().split()
    if not wanted:
        return list(choices)
    found = [c for c in choices if all(word in c.name.lower() for word in wanted)]
    return sorted(found, key=lambda choice: _distance(choice.name.lower(), wanted[0]))


def _distance(name: str, word: str) -> int:
    """0 where the name is the word, 1 where it is the last part of a setting, 2 where it is that of
    a metric, 3 where the name begins with it, else 4.
    """
    is_end = (name.endswith(f".{word}"), name.endswith(f"/{word}"))
    return (name == word, *is_end, name.startswith(word), True).index(True)
