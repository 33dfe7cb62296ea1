"""A configuration from values and `key=value` overrides, and the errors people see."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...shared.errors import CheckpointError, ConfigError, nearest
from ...shared.text.harmless import one_line
from ...shared.text.typed_numbers import typed_number
from ..envs.hosts import describe_again
from ..envs.spaces import full_name
from ..settings.interval import UNITS
from ..settings.section import IgnoredSettingError, Section
from .defaults import neutral_settings
from .env_tables import ENV_TABLES, env_table
from .flat_keys import flat_keys
from .known_elsewhere import known_elsewhere
from .own_algorithms import base_algorithm
from .removed_keys import removed_key
from .train_config import (
    DEFAULT_ALGORITHM,
    DEFAULT_ENV,
    TrainConfig,
    algorithm_sections,
    config_model,
    owners_of_sections,
    shared_tables,
)

MOST_SHOWN = 200  # characters of a value in an error
NO_VALUE = "(none)"  # of a key that need not have one


def make_config(values: Mapping[str, Any], overrides: Iterable[str] = ()) -> TrainConfig:
    """The configuration with these values, `key=value` overrides on top, defaults for the rest.

    Raises ConfigError, from an IgnoredSettingError where a value would have no effect.
    """
    describe_again()
    asked = changed(values, parsed(overrides))
    try:
        return model_for(asked).model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        cause = first.get("ctx", {}).get("error")
        is_ignored = isinstance(cause, IgnoredSettingError)
        raise ConfigError(_one_line(first, asked)) from (cause if is_ignored else None)


def saved_config(values: Mapping[str, Any], overrides: Iterable[str] = ()) -> TrainConfig:
    """The configuration that a checkpoint holds, with `key=value` overrides on top.

    Raises CheckpointError where this version does not take what it holds, ConfigError where an
    override is wrong.
    """
    try:
        saved = make_config(values)
    except ConfigError as error:
        raise CheckpointError(
            f"this version of operant does not take the checkpoint's configuration: {error}"
        ) from None
    overrides = list(overrides)
    for key, value in parsed(overrides).items():
        # Said before the tables of another algorithm are refused one by one.
        if key in ("algorithm", "env") and value != getattr(saved, key):
            raise CheckpointError(
                f"the checkpoint has {key} = {getattr(saved, key)}, not {value}; "
                "a resumed run keeps its configuration"
            )
    return make_config(values, overrides) if overrides else saved


def changed(values: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values with `given` ones on top, which have whole keys. An interval in one unit takes the
    place of one in another unit that is not given as well; `none` takes away what a key need not
    have.
    """
    new = copy.deepcopy(dict(values))
    for key, value in given.items():
        prefix, _, name = key.rpartition(".")
        if value and name in UNITS:
            for unit in UNITS:
                if f"{prefix}.{unit}" not in given:
                    unset_value(new, f"{prefix}.{unit}")
        set_value(new, key, value)
    taken_away = {key for key, value in given.items() if value == "none"}
    if taken_away:
        defaults = {key: default for key, default, _ in _fields(model_for(new), "")}
        for key in taken_away:
            if defaults.get(key) == NO_VALUE:
                unset_value(new, key)
    if isinstance(new.get("env"), str):
        new["env"] = full_name(new["env"])
    return new


def model_for(values: Mapping[str, Any]) -> type[TrainConfig]:
    """The model with the tables of the algorithm and the environment that `values` name."""
    algorithm, env = values.get("algorithm", DEFAULT_ALGORITHM), values.get("env", DEFAULT_ENV)
    return config_model(str(algorithm), str(env))


def parsed(overrides: Iterable[str]) -> dict[str, Any]:
    """The values of `key=value` overrides by their whole keys."""
    return flat_keys(dict(map(parse_override, overrides)))


def parse_override(override: str) -> tuple[str, Any]:
    """`ppo.gamma=0.9` as key and value; the value is read as TOML, else taken as text, which may be
    a number like `10M`.
    """
    key, equals, value = override.partition("=")
    key, value = key.strip(), value.strip()
    if not equals or not all(key.split(".")):
        shown = one_line(override, MOST_SHOWN)
        raise ConfigError(f"{shown}: write key=value, as in ppo.gamma=0.9")
    typed: Any = value
    try:
        typed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    except (RecursionError, ValueError):  # too deep for Python, or a number of too many digits
        shown = one_line(f"{key} = {value}", MOST_SHOWN)
        raise ConfigError(f"{shown}: the value is too long") from None
    if key == "env" and isinstance(typed, str):
        return key, full_name(typed)
    return key, number_in(typed)


def number_in(value: Any) -> Any:
    """The number that a text such as "10M" is; other values as they are."""
    number = typed_number(value) if isinstance(value, str) else None
    if number is None:
        return value
    return int(number) if number.is_integer() else number


class Setting(NamedTuple):
    """A key, its neutral default as TOML for each algorithm that has it, and its description."""

    key: str
    defaults: dict[str, str]
    description: str


def fields_with_defaults() -> Iterator[Setting]:
    """Every key, in the order of the models. The neutral defaults are those for environments of
    other libraries whose observations are vectors and whose actions are choices.
    """
    settings: dict[str, Setting] = {}
    for algorithm, section in algorithm_sections().items():
        neutral = neutral_settings(algorithm, {}, is_fast=False)
        models: dict[str, type[Section]] = {"": TrainConfig, f"{algorithm}.": section}
        models |= {f"{name}.": table for name, table in section.tables.items()}
        for prefix, model in models.items():
            for key, default, description in _fields(model, prefix):
                default = _toml(neutral[key]) if key in neutral else default
                setting = settings.setdefault(key, Setting(key, {}, description))
                setting.defaults[algorithm] = default
    yield from settings.values()
    for name in ENV_TABLES:
        for key, default, description in _fields(env_table(name), f"{name}."):
            yield Setting(key, dict.fromkeys(algorithm_sections(), default), description)


def values_in_words(defaults: Mapping[str, str]) -> list[str]:
    """The values with the algorithms that have them, as `1 for dqn, c51`; a value of all alone."""
    users: dict[str, list[str]] = {}
    for algorithm, value in defaults.items():
        users.setdefault(value, []).append(algorithm)
    if len(users) == 1:
        return list(users)
    return [f"{value} for {', '.join(names)}" for value, names in users.items()]


def foreign_section(name: str) -> type[Section]:
    """The model of a table that not all runs have."""
    sections: dict[str, type[Section]] = {**algorithm_sections(), **shared_tables()}
    return sections[name] if name in sections else env_table(name)


def _fields(model: type[Section], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, info in model.model_fields.items():
        if isinstance(info.default, Section):
            yield from _fields(type(info.default), f"{prefix}{name}.")
        elif name not in model.unused_fields:
            yield prefix + name, _toml(info.default), info.description or ""


def _toml(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(list(value)) if isinstance(value, tuple) else str(value)


def set_value(values: dict[str, Any], key: str, value: Any) -> None:
    *tables, name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(f"unknown key '{key}': '{table}' is not a table")
    values[name] = value


def unset_value(values: dict[str, Any], key: str) -> None:
    *tables, name = key.split(".")
    for table in tables:
        values = values.get(table, {})
        if not isinstance(values, dict):
            return
    values.pop(name, None)


# In TOML's words, where pydantic has Python's.
_RULES = {
    "model_type": "it is a table, [{key}] with keys of its own",
    "tuple_type": "it should be a list, as [64, 64]",
    "string_type": "it should be text in quotes",
    "int_parsing": "it should be a whole number, as 5000, 10M or 1e6",
    "float_parsing": "it should be a number, as 0.5 or 3e-4",
    "bool_type": "it should be true or false",
    "bool_parsing": "it should be true or false",
}


def _one_line(error: ErrorDetails, values: Mapping[str, Any]) -> str:
    """An error of pydantic's in one line: the key, the value and the rule."""
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        if key in owners_of_sections():
            return _foreign_table(key, error["input"], values)
        known = [name for name, _, _ in _fields(model_for(values), "")]
        if isinstance(error["input"], dict) and error["input"]:  # no such table: what is in it
            key += f".{next(iter(error['input']))}"
        algorithm = str(values.get("algorithm", DEFAULT_ALGORITHM))
        if removed := removed_key(key, base_algorithm(algorithm)):
            return key + removed
        hint = known_elsewhere(key, algorithm, known)
        hint = nearest(key, known) if hint is None else hint
        return f"unknown key '{one_line(key, MOST_SHOWN)}'{hint}"
    rule = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return rule if not key or rule.startswith(key) else f"{key}: {rule}"
    words = _RULES.get(error["type"], rule[0].lower() + rule[1:])
    return f"{key} = {_shown(error['input'])}: {words.format(key=key)}"


def _shown(value: object) -> str:
    """A value that somebody gave, of a long one the beginning."""
    try:
        return one_line(repr(value), MOST_SHOWN)
    except ValueError:  # Python writes no number of more than 4,300 digits
        return "a number of thousands of digits"


def _foreign_table(name: str, table: Any, values: Mapping[str, Any]) -> str:
    """A table of another algorithm or environment than `values` name."""
    setting, owner = owners_of_sections()[name]
    present = values.get(setting, model_for(values).model_fields[setting].default)
    subject = f"[{name}]"
    if isinstance(table, Mapping) and table:
        key, value = next(iter(table.items()))
        subject = f"{name}.{key} = {value}"
    instead = f"; its own table is [{present}]" if setting == "algorithm" else ""
    return f"{subject} is for {setting} = {owner} alone, and {setting} = {present}{instead}"
