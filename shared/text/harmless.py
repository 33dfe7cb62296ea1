"""Text from outside (pages, run folders, other machines, command lines), made safe to show."""

from __future__ import annotations


def harmless(text: str) -> str:
    """`text` with spaces in place of characters that a terminal would interpret: control
    characters, line ends and marks that change the writing direction.

    Names and messages come from pages, which anyone may write.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def harmless_lines(text: str) -> str:
    """`harmless` for a text of several lines, such as a traceback; its line ends stay."""
    return "\n".join(map(harmless, text.split("\n")))


def harmless_toml(text: str) -> str:
    """TOML of `tomli_w` with escapes (`\\u202e`) for control characters, marks that change the
    writing direction and characters without a width. It is read back as the same values: such
    characters occur in quoted texts and keys only.
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
    """`text` as one harmless line of at most `max_characters`, with single spaces."""
    # Twice as much is read as is kept: cleaning a text of gigabytes would take long.
    line = " ".join(harmless(text[: 2 * max_characters]).split())
    return line if len(line) <= max_characters else line[: max_characters - 1] + "…"
