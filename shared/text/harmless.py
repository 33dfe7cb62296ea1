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


def harmless_toml(text: str) -> str:
    """TOML as `tomli_w` writes it, with escapes (`\\u202e`) for control characters, marks that turn
    the direction of writing and characters without a width. The file shows what it holds, and reads
    back as the same values: such characters stand in quoted texts and keys only.
    """
    return "\n".join(
        line if line.isprintable() else "".join(map(_toml_letter, line))
        for line in text.split("\n")
    )


def _toml_letter(letter: str) -> str:
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def one_line(text: str, max_characters: int = 1000) -> str:
    """`text` as a single harmless line, words apart by one space, its end cut."""
    # Twice as much is looked at as is kept: a text of gigabytes is not worth its cleaning.
    line = " ".join(harmless(text[: 2 * max_characters]).split())
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"
