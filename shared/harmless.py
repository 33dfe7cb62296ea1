"""Text from outside (pages, run folders, other machines, command lines), made safe to show."""

from __future__ import annotations


def harmless(text: str) -> str:
    """`text` without what a terminal would obey rather than show: control characters, line ends and
    marks that turn the direction of writing become spaces.

    Names and messages come from pages, which anyone may write.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def harmless_lines(text: str) -> str:
    """The same of a text of several lines, as a traceback, which keeps them."""
    return "\n".join(map(harmless, text.split("\n")))


def one_line(text: str, max_characters: int = 1000) -> str:
    """`text` as a single harmless line, words apart by one space, its end cut."""
    # Twice as much is looked at as is kept: a text of gigabytes is not worth its cleaning.
    line = " ".join(harmless(text[: 2 * max_characters]).split())
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"
