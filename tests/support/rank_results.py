"""Compares the results of the same tasks with 1 and 3 ranks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import ranked
import torch
from rank_processes import said, started, wait_for_all

SMALL: dict[str, Any] = {
    "num_envs": 6, "rollout_steps": 16, "total_env_steps": 1920, "num_threads": 1,
    "policy": {"hidden_sizes": [16, 16]}, "iterations": 20, "double": True,
}  # fmt: skip
FEW = {"iterations": 5}
ONCE = {"iterations": 1, "double": False, "rollout_steps": 64}
NORMALIZED = {"normalization": {"obs": True, "reward": True}}
SPLITS = {1: "", 3: "3:2:1"}


def results_of(tasks: Mapping[str, Any], folder: Path) -> dict[int, Any]:
    """By the number of ranks what `ranked` writes, by the name of the task."""
    return {size: _trained(tasks, size, folder) for size in SPLITS}


def _trained(tasks: Mapping[str, Any], size: int, folder: Path) -> Any:
    result, split = folder / f"{size}.pt", SPLITS[size]
    command = [ranked.__file__, json.dumps(tasks), str(result), "--split", split]
    with started([command] * size, folder) as processes:
        assert wait_for_all(processes) == [0] * size, said(folder, size - 1)
    return torch.load(result, weights_only=False)


def check_same_learning(alone: Any, together: Any, double: bool) -> None:
    """In float64 all episodes to the bit, and the parameters but for rounding."""
    assert not list(different(alone["episodes"], together["episodes"], is_exact=double))
    limit = 1e-9 if double else 1e-5
    assert (alone["parameters"] - together["parameters"]).abs().max() < limit


def check_same_values(alone: Any, together: Any) -> None:
    """Compare the metrics of the last iteration."""
    alone, together = alone["values"], together["values"]
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        if not name.startswith("time/"):
            assert together[name] == pytest.approx(value, rel=1e-4, abs=1e-6, nan_ok=True), name


def different(one: Any, other: Any, name: str = "", is_exact: bool = True) -> Iterator[str]:
    """Where two nested states are not the same, or with `is_exact` False differ by more than what
    comes of rounding in float32: on some processors PyTorch's products of a row depend on how many
    other rows there are.
    """
    if isinstance(one, list | tuple):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    if isinstance(one, dict):
        assert one.keys() == other.keys(), name
        for key in one:
            yield from different(one[key], other[key], f"{name}.{key}", is_exact)
    elif isinstance(one, torch.Tensor) and one.is_floating_point() and not is_exact:
        if not torch.allclose(one, other, rtol=1e-4, atol=1e-3):
            yield name
    elif not (torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other):
        yield name
