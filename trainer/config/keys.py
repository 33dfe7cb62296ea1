"""The keys that a configuration has, for who has typed half of one. Nothing is checked here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin

from ..envs.names import ALL_ENV_NAMES
from ..settings.section import Section
from .files import read_source
from .from_values import changed, foreign_section, model_for, parsed
from .train_config import DEFAULT_ENV, TrainConfig, algorithm_sections, owners_of_sections


class Key(NamedTuple):
    """`ppo.learning_rate`; `choices` are all values as one types them, where they are few words."""

    name: str
    description: str
    choices: tuple[str, ...] = ()


def keys_of(source: str | None, overrides: Iterable[str] = ()) -> list[Key]:
    """All keys of the preset, TOML file or environment `source` with `key=value` overrides on top:
    those of its algorithm and its environment. Raises ConfigError where it cannot be read.
    """
    values = read_source(source or DEFAULT_ENV).values
    return list(_keys(model_for(changed(values, parsed(overrides))), ""))


def keys_of_all() -> list[Key]:
    """The keys that any configuration may have."""
    keys = list(_keys(TrainConfig, ""))
    for name in owners_of_sections():
        keys += _keys(foreign_section(name), f"{name}.")
    return keys


def _keys(model: type[Section], prefix: str) -> Iterator[Key]:
    for name, info in model.model_fields.items():
        if isinstance(info.default, Section):
            yield from _keys(type(info.default), f"{prefix}{name}.")
        elif name not in model.unused_fields:
            choices = _choices(prefix + name, info.annotation)
            yield Key(prefix + name, info.description or "", choices)


def _choices(name: str, annotation: Any) -> tuple[str, ...]:
    if name == "env":
        return ALL_ENV_NAMES
    if name == "algorithm":
        return tuple(algorithm_sections())
    if annotation is bool:
        return ("true", "false")
    return tuple(map(str, get_args(annotation))) if get_origin(annotation) is Literal else ()
