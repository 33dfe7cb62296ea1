"""`operant snapshot`: a picture of the monitor's screen."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ..shared.errors import OperantError, UsageError, nearest
from .helpers.candidates import run_ids, theme_option
from .helpers.choosing_a_run import chosen_run, run_argument, run_here
from .monitor import known_theme

_SMALLEST, _LARGEST = (20, 6), (500, 200)


@click.command("snapshot")
@run_argument
@click.option(
    "--to",
    "path",
    required=True,
    type=click.Path(path_type=Path),
    help="The file to write, as picture.svg.",
)
@click.option(
    "--size", default="120x40", show_default=True, help="Size of the screen in columns x rows."
)
@theme_option
@click.option(
    "--beside",
    multiple=True,
    metavar="RUN",
    shell_complete=run_ids,
    help="Draw another run on the same charts.",
)
@click.option(
    "--press", default="", metavar="KEYS", help="Keys to press before the picture, as enter,z,s"
)
def command(
    run: str | None,
    latest: bool,
    path: Path,
    size: str,
    theme: str | None,
    beside: tuple[str, ...],
    press: str,
) -> None:
    """Save the monitor's screen of RUN as an SVG file. Default: the latest run."""
    width, height = _size(size)
    if path.suffix != ".svg":
        raise UsageError(f"--to {path}: expected a name that ends in .svg")
    theme, keys = known_theme(theme), known_keys(press)
    chosen = chosen_run(run, latest)

    from ..monitor.picture import picture
    from .helpers.output import print_line

    others = tuple(run_here(other, "snapshot --beside") for other in beside)
    content = picture(chosen, (width, height), theme, keys, others)
    try:
        path.write_text(content, "utf-8")
    except OSError as error:
        raise OperantError(f"cannot write {path}: {error.strerror}") from None
    print_line(f"{chosen.id}: {path}")


def known_keys(text: str) -> list[str]:
    """The keys of `enter,z,ctrl+p,comma`. Raises UsageError for an unknown key."""
    from textual.keys import Keys, key_to_character

    keys = [key for key in text.split(",") if key]
    named = {key.value for key in Keys}
    for key in keys:
        plain = re.sub(r"^((ctrl|shift|alt)\+)+(?=.)", "", key)
        if len(plain) > 1 and not {key, plain} & named and key_to_character(plain) is None:
            hint = nearest(key, sorted(named))
            raise UsageError(
                f"--press {text}: '{key}' is not a key{hint}; write enter,z,comma,ctrl+p"
            )
    return keys


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if match:
        width, height = int(match[1]), int(match[2])
        if _SMALLEST[0] <= width <= _LARGEST[0] and _SMALLEST[1] <= height <= _LARGEST[1]:
            return width, height
    raise UsageError(f"--size {text} is not between 20x6 and 500x200, such as 120x40")
