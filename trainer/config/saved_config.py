"""Configurations as checkpoints hold them: perhaps of an older operant, or a newer one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from ...shared.errors import CheckpointError, ConfigError
from ..envs.workers.dividing import MOST_WORKERS, most_workers
from .files import make_config, model_for, parse_override
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

    Keys that it lacks, since they are newer than it, take their defaults; keys that this version
    does not know are left out. Raises CheckpointError where it has a value that this version does
    not take, ConfigError where an override is wrong.
    """
    known, unknown = _split(values)
    try:
        saved = make_config(known)
    except ConfigError as error:
        raise CheckpointError(
            f"this version of operant does not take the checkpoint's configuration: {error}"
        ) from None
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
    try:
        model.model_validate(known)
    except ValidationError as error:
        for found in error.errors():
            if found["type"] == "extra_forbidden":
                *tables, name = found["loc"]
                place: Any = known
                for table in tables:
                    place = place[table]
                value = place.pop(name)
                unknown.append(f"{'.'.join(map(str, found['loc']))} = {value}")
    return known, unknown


def _translate(values: dict[str, Any]) -> None:
    """Say in this version's words what 0.1.0 said in others: a process for each environment."""
    table = values.get("gymnasium")
    if isinstance(table, dict) and table.get("vectorization") == "async":
        table["vectorization"] = "sync"
        num_envs = int(values.get("num_envs", 1))
        values["workers"] = {"num_workers": most_workers(num_envs, num_envs, MOST_WORKERS)}
