"""What a trainer says of traces, for those who wait for them."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import OperantError

_WRITTEN, _FAILED = "trace: ", "no trace: "


def written_notice(names: Sequence[str]) -> str:
    return _WRITTEN + ", ".join(names)


def failed_notice(reason: str) -> str:
    return _FAILED + reason


def read_notice(text: str) -> list[str]:
    """The names of the files that a notice tells of; none where it tells of something else. Raises
    OperantError where they could not be written.
    """
    if text.startswith(_FAILED):
        raise OperantError(text)
    names = text.removeprefix(_WRITTEN).split(", ") if text.startswith(_WRITTEN) else []
    return [name for name in names if "/" not in name]
