"""Observations and actions of Gymnasium's spaces as the rows of policies, and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..spaces import num_numbers
from ..spaces.encoders import is_packed
from .checking import EnvError, flattening_changes, rounds
from .spaces import import_gymnasium, leaves

Array = NDArray[Any]


class ObsRows:
    """Observations of the space of `spec`, each as one row without an action mask."""

    def __init__(self, spec: Any) -> None:
        self.space, self._spaces = spec.obs_space, import_gymnasium().spaces
        self._is_vector = isinstance(self.space, self._spaces.Box) and len(self.space.shape) == 1
        self._num_numbers, self.row_size = num_numbers(spec), spec.obs_size - spec.mask_size
        parts = spec.obs_parts if is_packed(spec) else ()
        self._parts = list(zip(leaves(self.space), parts, strict=True)) if parts else []

    def row(self, obs: Any) -> Array:
        """One row. Raises TypeError, ValueError, KeyError, IndexError or OverflowError for what is
        not in the space: NumPy would stretch some shapes to fit, and round some numbers.
        """
        if self._is_vector:
            row = np.asarray(obs)
            is_wrong = rounds(row, self.space)
        elif flattening_changes(obs, self.space):
            raise ValueError
        elif self._parts:
            return self._packed(obs)
        else:
            row, is_wrong = np.asarray(self._spaces.flatten(self.space, obs)), False
        if is_wrong or row.shape != (self._num_numbers,) or row.dtype.kind == "c":
            raise ValueError
        return row

    def _packed(self, obs: Any) -> Array:
        row = np.zeros(self.row_size, np.uint8)
        for (space, part), given in zip(self._parts, parts_of(self.space, obs), strict=True):
            numbers = row[part.offset : part.offset + part.obs_bytes].view(part.obs_type)
            with np.errstate(over="ignore"):
                numbers[:] = self._spaces.flatten(space, given)
            if not np.isfinite(numbers).all():
                raise ValueError
        return row

    def obs(self, row: Array) -> Any:
        """The observation in a row of numbers."""
        return row if self._is_vector else self._spaces.unflatten(self.space, row)


def parts_of(space: Any, obs: Any) -> Iterator[Any]:
    """The parts of an observation, in the order of `leaves` of its space."""
    spaces = getattr(space, "spaces", None)
    if spaces is None:
        yield obs
        return
    if isinstance(spaces, Mapping):
        spaces, obs = spaces.values(), [obs[name] for name in spaces]
    for leaf, part in zip(spaces, obs, strict=True):
        yield from parts_of(leaf, part)


def flat_rows(space: Any, obs: Any) -> tuple[Array, bool]:
    """Rows of numbers [B, numbers], flattened, of an observation of `space` or of a batch, and
    whether it is one. A batch has arrays [B, ...] in place of the parts, as Gymnasium's vector
    environments have it, or is a list. Raises as `ObsRows.row`, and EnvError where a part has
    floating-point numbers in a space of integers, to which Gymnasium would cut them.
    """
    flatten, spaces = import_gymnasium().spaces.flatten, list(leaves(space))
    if isinstance(obs, list) and hasattr(space, "spaces"):
        return np.concatenate([flat_rows(space, row)[0] for row in obs]), False
    parts = [np.asarray(part) for part in parts_of(space, obs)]
    is_one = all(part.shape == leaf.shape for part, leaf in zip(parts, spaces, strict=True))
    if is_one:
        parts = [part[None] for part in parts]
    if any(x.shape != (len(parts[0]), *y.shape) for x, y in zip(parts, spaces, strict=True)):
        raise ValueError
    for part, leaf in zip(parts, spaces, strict=True):
        if part.dtype.kind == "f" and np.dtype(leaf.dtype).kind in "iu":
            raise EnvError(f"a part has {part.dtype}, and its space {leaf.dtype}")
    columns = [
        np.stack([flatten(leaf, one) for one in part])
        for part, leaf in zip(parts, spaces, strict=True)
    ]
    return np.concatenate(columns, -1).astype(np.float32), is_one


def env_action(space: Any, rows: Array) -> Any:
    """Actions `rows` [..., size] as an environment with this `space` takes them: in the type of the
    space, within the bounds of a `Box`, as a number for a `Discrete`, a tuple for a `Tuple` and a
    dictionary for a `Dict`. Without a space, which operant's own environments lack: as they are.
    """
    if space is None:
        return rows
    return (
        _nested(space, rows, itertools.count()) if hasattr(space, "spaces") else _typed(space, rows)
    )


def _nested(space: Any, rows: Array, columns: Iterator[int]) -> Any:
    spaces = getattr(space, "spaces", None)
    if isinstance(spaces, Mapping):
        return {name: _nested(part, rows, columns) for name, part in spaces.items()}
    if spaces is not None:
        return tuple(_nested(part, rows, columns) for part in spaces)
    if not space.shape:
        return _typed(space, rows[..., next(columns)])
    return _typed(space, rows[..., [next(columns) for _ in range(space.shape[0])]])


def _typed(space: Any, rows: Array) -> Any:
    """A copy of `rows` in the type of a space without parts."""
    typed = rows.astype(space.dtype)
    if hasattr(space, "low"):  # a Box, whose bounds may have more digits than float32
        np.clip(typed, space.low, space.high, out=typed)
    return typed[()]  # a number where it is one
