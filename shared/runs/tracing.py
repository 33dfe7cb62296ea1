"""Events about traces, written by the trainer and read by `operant trace`."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import OperantError

_WRITTEN, _FAILED = "trace: ", "no trace: "


def written_notice(names: Sequence[str]) -> str:
    return _WRITTEN + ", ".join(names)


def failed_notice(reason: str) -> str:
    return _FAILED + reason


def read_notice(text: str) -> list[str]:
    """The names of the files in an event about traces; empty for another event. Raises OperantError
    if the traces could not be written.
    """
    if text.startswith(_FAILED):
        raise OperantError(text)
    names = text.removeprefix(_WRITTEN).split(", ") if text.startswith(_WRITTEN) else []
    return [name for name in names if "/" not in name]
