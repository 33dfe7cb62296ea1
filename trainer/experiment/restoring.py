"""A checkpoint's state that does not fit what takes it is one line that names where."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...shared.errors import CheckpointError


@contextlib.contextmanager
def restoring(saved: Mapping[str, Any], own: Callable[[], Mapping[str, Any]]) -> Iterator[None]:
    """Turns whatever a state that does not fit leads to into one CheckpointError, which names the
    first place where the `saved` state has another form than `own`, asked for then alone.
    """
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        found: list[str] = []
        with contextlib.suppress(Exception):  # what was taken so far may be nonsense
            found = list(differences(saved, own()))
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        if found:
            reason = found[0] + (f", and {len(found) - 1} more differ" if found[1:] else "")
        raise CheckpointError(f"the checkpoint does not fit this run: {reason}") from error


def differences(saved: object, own: object, name: str = "") -> Iterator[str]:
    """In words, where two nested states of tensors and plain values are not of the same form."""
    if isinstance(saved, Mapping) and isinstance(own, Mapping):
        prefix = f"{name}." if name else ""
        yield from (f"it lacks {prefix}{key}" for key in own if key not in saved)
        yield from (f"nothing here takes its {prefix}{key}" for key in saved if key not in own)
        for key in own:
            if key in saved:
                yield from differences(saved[key], own[key], f"{prefix}{key}")
    elif _form(saved) != _form(own):
        yield f"{name} is {_form(saved)} in it, and {_form(own)} here"


def _form(value: object) -> str:
    if isinstance(value, Tensor):
        return " x ".join(map(str, value.shape)) or "a number"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a list of {len(value)}"
    return "a number" if isinstance(value, int | float) else "a plain value"
