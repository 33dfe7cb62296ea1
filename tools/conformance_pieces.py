"""A piece of a training script, and what operant keeps of it."""

from __future__ import annotations

from typing import NamedTuple


class Piece(NamedTuple):
    """`code` runs with the original and with operant. `keeps` is an expression that must be true of
    what operant keeps; empty where it accepts and drops, with a warning unless that is `silent`.
    `begins`: it begins its own run. Not `real`: the original wants a network, a library that is not
    installed, or another version.
    """

    title: str
    code: str
    keeps: str
    begins: bool
    real: bool
    silent: bool


def kept(title: str, code: str, keeps: str, *, begins: bool = False, real: bool = True) -> Piece:
    return Piece(title, code, keeps, begins, real, False)


def dropped(
    title: str, code: str, *, begins: bool = False, real: bool = True, silent: bool = False
) -> Piece:
    return Piece(title, code, "", begins, real, silent)
