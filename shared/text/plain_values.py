"""Converts any object to TOML's types or to text. Objects of other libraries may raise, contain
themselves, or report a wrong class.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 10
MAX_ENTRIES = 4_000
MAX_CHARACTERS = 10_000  # of one text
MAX_KEY_CHARACTERS = 1_000
MAX_ALL_CHARACTERS = (
    100_000  # escaped and indented, they still fit in the 1 MiB that is read of run.toml
)
MAX_INTEGER_BITS = 1023  # as a float can have; Python itself refuses to print 4300 digits

_CONTAINERS = (Mapping, list, tuple, set, frozenset)

_short = reprlib.Repr()
_short.maxlist = _short.maxtuple = _short.maxdict = 20
_short.maxlevel, _short.maxstring, _short.maxother = 2, 60, 60


def plain(value: Any) -> Any:
    """`value` as numbers, text, lists and tables; other objects as their text. Never raises.

    A table leaves out keys whose value is None, which TOML lacks; in a list it becomes "None", so
    that later entries keep their places. Below `MAX_DEPTH` levels, as in a list that contains
    itself, a value becomes its type's name; entries after `MAX_ENTRIES` are left out.
    """
    return _Plainer().plain(value, MAX_DEPTH)


def is_true(value: Any) -> bool:
    """`bool(value)`; False for values without one, such as an array. Never raises."""
    try:
        return value is not NotImplemented and bool(value)
    except Exception:
        return False


def described(value: Any) -> str:
    """`value` in a few dozen characters, for a warning. Never raises."""
    try:
        return _short.repr(value).encode("utf-8", "backslashreplace").decode()[:200]
    except Exception:
        return f"<{type_name(value)}>"


def described_error(error: BaseException) -> str:
    """`ValueError: no`, in one line. Never raises."""
    text = " ".join(text_of(error).split())[:300]
    return f"{type_name(error)}: {text}" if text else type_name(error)


def text_of(value: Any) -> str:
    """`str(value)` in valid UTF-8; the type's name if it has no text. Never raises."""
    try:
        if isinstance(value, _CONTAINERS):
            return described(value)  # str() of lists that contain each other twice takes for ever
        # A subclass of str may return anything: the characters count.
        text = str.__str__(value) if isinstance(value, str) else str(value)
        return text.encode("utf-8", "replace").decode()
    except Exception:
        return f"<{type_name(value)}>"


def type_name(value: Any) -> str:
    """The name of the type of `value`, even if the type overrides it."""
    return str(type.__dict__["__name__"].__get__(type(value)))


class _Plainer:
    """`plain` with limits: a few lists that contain each other twice unfold into billions."""

    def __init__(self) -> None:
        self._entries_left, self._characters_left = MAX_ENTRIES, MAX_ALL_CHARACTERS

    def plain(self, value: Any, depth: int) -> Any:
        try:
            if isinstance(value, bool):
                return bool(value)
            # TOML gets str() of a number, which a subclass may override.
            if isinstance(value, int):
                number = int.__index__(value)
                return number if number.bit_length() <= MAX_INTEGER_BITS else text_of(number)
            if isinstance(value, float):
                return float.__float__(value)
            if isinstance(value, _CONTAINERS):
                return self._entries(value, depth)
            if dataclasses.is_dataclass(value) and not isinstance(value, type):
                return self._entries(
                    {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}, depth
                )
            if not isinstance(value, str):
                item = value.item()  # a number of numpy, or a tensor of one element
                if isinstance(item, bool | int | float):
                    return self.plain(item, 0)
        except Exception:
            pass
        return self._text(value)

    def _text(self, value: Any) -> str:
        text, room = text_of(value), min(MAX_CHARACTERS, self._characters_left)
        self._characters_left -= min(len(text), room)
        return text if len(text) <= room else text[:room] + "..."

    def _entries(self, value: Any, depth: int) -> Any:
        if depth == 0:
            return f"<{type_name(value)}>"
        entries = list(value.items() if isinstance(value, Mapping) else value)
        entries = entries[: self._entries_left]
        self._entries_left -= len(entries)
        if not isinstance(value, Mapping):
            return [self.plain(entry, depth - 1) for entry in entries]
        return {
            self._text(key)[:MAX_KEY_CHARACTERS]: self.plain(entry, depth - 1)
            for key, entry in entries
            if entry is not None
        }
