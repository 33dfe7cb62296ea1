"""Restores an experiment from a checkpoint, and says what does not fit or has changed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ...shared.errors import CheckpointError
from ...shared.text.short_numbers import short_number
from ..algorithms.algorithm import epsilon_at, scheduled
from ..config import TrainConfig
from ..config.sections.exploring import EpsilonGreedyConfig


@contextlib.contextmanager
def restoring(saved: Mapping[str, Any], own: Callable[[], Mapping[str, Any]]) -> Iterator[None]:
    """Wraps loading the `saved` state of a checkpoint. Raises CheckpointError if that fails, which
    names the first part that has another form than in the state that `own` returns.
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
    """The places where two nested states of tensors and plain values differ in form, in words."""
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


def moved_schedules(before: TrainConfig, now: TrainConfig, env_steps: int) -> str:
    """Say from where to where schedules move as a run that has learned from `env_steps` goes on
    with another configuration, and how they stay as they were; empty where nothing moves.
    """
    values = [scheduled_values(config, env_steps) for config in (before, now)]
    moved = [
        f"{key} goes from {short_number(old)} to {short_number(new)}"
        for (key, old), new in zip(values[0].items(), values[1].values(), strict=True)
        if old != new
    ]
    if not moved:
        return ""
    kept = before.schedule_env_steps or before.total_env_steps
    return f"{', '.join(moved)}; with schedule_env_steps = {kept} schedules stay as they were"


def scheduled_values(config: TrainConfig, env_steps: int) -> dict[str, float]:
    """The values of a run's schedules after `env_steps`, by their keys."""
    section = config.algorithm_section
    fraction = min(env_steps / (config.num_scheduled_iterations * config.rollout_size), 1.0)
    values = {}
    for key in ("learning_rate", "entropy_coef"):
        schedule: Any = getattr(section, f"{key.removesuffix('_coef')}_schedule", "constant")
        if schedule != "constant":
            value = scheduled(getattr(section, key), schedule, fraction)
            values[f"{config.base_algorithm}.{key}"] = float(value)
    if isinstance(section, EpsilonGreedyConfig):
        values["exploration/epsilon"] = float(epsilon_at(section, fraction))
    return values
