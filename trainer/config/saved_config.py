"""Configurations as checkpoints hold them: perhaps of an older operant, or a newer one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...shared.errors import CheckpointError, ConfigError
from ..envs.workers.dividing import MOST_WORKERS, most_workers
from ..settings.section import IgnoredSettingError
from ..spaces.encoders import ENVIRONMENT, MLP
from .from_values import make_config, model_for, parse_override
from .train_config import TrainConfig, owners_of_sections


class SavedConfig(NamedTuple):
    """A checkpoint's configuration as this version has it. `unknown` lists what it does not know of
    it, as `key = value`.
    """

    config: TrainConfig
    unknown: list[str]

    @property
    def warning(self) -> str:
        """One line about what is left out; empty when nothing is."""
        if not self.unknown:
            return ""
        return (
            f"the checkpoint has {', '.join(self.unknown)}, which this version of operant does not "
            "know; it goes on without"
        )


def saved_config(values: Mapping[str, Any], overrides: Iterable[str] = ()) -> SavedConfig:
    """The configuration that a checkpoint holds, with `key=value` overrides on top.

    Keys that it lacks, since they are newer than it, take their defaults; so do settings that an
    older version ignored and this one refuses. Keys that this version does not know are left out.
    Raises CheckpointError where it has a value that this version does not take, ConfigError where
    an override is wrong.
    """
    known, unknown = _split(values)
    try:
        saved = make_config(known)
    except ConfigError as error:
        raise CheckpointError(
            f"this version of operant does not take the checkpoint's configuration: {error}"
        ) from None
    if "encoder" not in values.get("policy", {}) and saved.encoder not in (MLP, ENVIRONMENT):
        # Before 0.3.0 there were no convolutions.
        known["policy"] = {**known.get("policy", {}), "encoder": MLP}
        saved = make_config(known)
    overrides = list(overrides)
    for key, value in map(parse_override, overrides):
        # Said before the tables of another algorithm are refused one by one.
        if key in ("algorithm", "env") and value != getattr(saved, key):
            raise CheckpointError(
                f"the checkpoint has {key} = {getattr(saved, key)}, not {value}; "
                "a resumed run keeps its configuration"
            )
    return SavedConfig(make_config(known, overrides) if overrides else saved, unknown)


def _split(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """`values` without the keys that no model has, and those keys with their values. The tables
    of other algorithms and environments, which operant 0.1.0 wrote for every run, are left out.
    """
    known, unknown = copy.deepcopy(dict(values)), []
    _translate(known)
    model = model_for(known)
    for foreign in owners_of_sections().keys() - model.model_fields.keys():
        known.pop(foreign, None)
    for found in _errors(model, known):
        if found["type"] == "extra_forbidden":
            value = _taken(known, found["loc"])
            unknown.append(f"{'.'.join(map(str, found['loc']))} = {value}")
    while ignored := [
        found["ctx"]["error"].key for found in _errors(model, known)
        if isinstance(found.get("ctx", {}).get("error"), IgnoredSettingError)
    ]:  # fmt: skip
        for key in ignored:
            _taken(known, key.split("."))
    return known, unknown


def _errors(model: type[TrainConfig], values: Mapping[str, Any]) -> list[ErrorDetails]:
    try:
        model.model_validate(values)
    except ValidationError as error:
        return error.errors()
    return []


def _taken(values: dict[str, Any], path: Sequence[str | int]) -> Any:
    """Take the value at the end of this path out of `values`, and return it."""
    *tables, name = path
    place: Any = values
    for table in tables:
        place = place[table]
    return place.pop(name)


def _translate(values: dict[str, Any]) -> None:
    """Say in this version's words what 0.1.0 said in others: a process for each environment."""
    table = values.get("gymnasium")
    if isinstance(table, dict) and table.get("vectorization") == "async":
        table["vectorization"] = "sync"
        num_envs = int(values.get("num_envs", 1))
        values["workers"] = {"num_workers": most_workers(num_envs, num_envs, MOST_WORKERS)}
