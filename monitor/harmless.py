"""Text from pages, which anyone may write, made safe to show and to write into files."""

from __future__ import annotations


def harmless(text: str) -> str:
    """`text` without what a terminal would obey rather than show: control characters, line ends and
    marks that turn the direction of writing become spaces.

    Names and messages come from pages, which anyone may write.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)
