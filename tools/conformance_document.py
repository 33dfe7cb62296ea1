"""Writes the conformance table into docs/your-own-loop.md, from what the tests run."""

from __future__ import annotations

from pathlib import Path

import conformance_tensorboard
import conformance_wandb
from conformance_pieces import Piece

DOCUMENT = Path(__file__).parents[1] / "docs" / "your-own-loop.md"
BEGIN = "<!-- from here on written by tools/conformance_document.py -->\n"
END = "<!-- up to here -->\n"


def table() -> str:
    """Both tables, as Markdown."""
    return "\n".join(
        _one(name, pieces)
        for name, pieces in (
            ("wandb", conformance_wandb.PIECES),
            ("TensorBoard", conformance_tensorboard.PIECES),
        )
    )


def _one(name: str, groups: dict[str, list[Piece]]) -> str:
    pieces = [piece for group in groups.values() for piece in group]
    num_kept = sum(bool(piece.keeps) for piece in pieces)
    rows = "".join(
        f"| {group} | {_titles(pieces, True)} | {_titles(pieces, False)} |\n"
        for group, pieces in groups.items()
    )
    return (
        f"Of {len(pieces)} things that scripts do with {name}, {num_kept} are kept and "
        f"{len(pieces) - num_kept} accepted without keeping anything:\n\n"
        f"| {name} | kept | accepted, nothing kept |\n|---|---|---|\n{rows}"
    )


def _titles(pieces: list[Piece], are_kept: bool) -> str:
    titles = [piece.title for piece in pieces if bool(piece.keeps) == are_kept]
    return "; ".join(title.replace("*", "\\*") for title in titles)


def main() -> None:
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(before + BEGIN + "\n" + table() + "\n" + END + after)


if __name__ == "__main__":
    main()
