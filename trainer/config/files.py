"""Configurations from presets, TOML files and `--set`, and the errors people see."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ...shared.errors import ConfigError, nearest
from ...shared.runs.setting_sources import YOU, YOUR_FILE, Sources, defaults_of, is_default
from ...shared.text.harmless import one_line
from ...shared.text.typed_numbers import typed_number
from ..envs import look_again, num_agents_of, shows_atari, spec_of
from ..envs.names import (
    ALL_ENV_NAMES,
    CONFIGURED_ENV_NAMES,
    FOREIGN_ENV_NAMES,
    GYMNASIUM_PREFIX,
    LEARNED_ENV_NAMES,
    MINATAR_ENV_NAMES,
    is_hosted,
    own_version,
)
from ..envs.spaces import full_name, is_id
from ..settings.interval import UNITS
from ..settings.section import IgnoredSettingError, Section
from ..spaces import Box, obs_type
from ..spaces.encoders import IMAGE_ENCODERS, PARTS
from .defaults import NEUTRAL, neutral_settings
from .flat_keys import flat_keys
from .hardware import hardware_overrides
from .known_elsewhere import known_elsewhere
from .overlays import overlay_overrides, split_overlays
from .own_algorithms import base_algorithm
from .toml_file import PRESET_FOLDER, read_toml
from .train_config import (
    DEFAULT_ALGORITHM,
    DEFAULT_ENV,
    TrainConfig,
    algorithm_sections,
    config_model,
    env_sections,
    nearest_env,
    owners_of_sections,
    shared_tables,
)

MOST_SHOWN = 200  # characters of a value in an error
NO_VALUE = "(none)"  # of a key that need not have one


class Resolved(NamedTuple):
    """A configuration, and what `run.toml` keeps about it: the `sources` of its settings, and the
    `defaults` of the keys that have another value.
    """

    config: TrainConfig
    sources: Sources
    defaults: dict[str, Any]


def resolve(
    source: str | None = None, overrides: Iterable[str] = (), hardware: str = ""
) -> Resolved:
    """The configuration of `source`: a preset, a TOML file or an environment. On top of it come the
    overlays that are named behind a `+`, sizes for some `hardware`, and `key=value` overrides.

    An environment has the preset that is tuned for it and the algorithm, where there is one, and
    else the neutral defaults of the algorithm. Without a source, `env` is the environment.

    Raises ConfigError: one line that names the key or file, the value and what is allowed.
    """
    if source is not None and not source.strip():
        raise ConfigError(f"CONFIG = '{source}': expected an environment, a preset or a TOML file")
    overrides, (name, overlays) = list(overrides), split_overlays(source or "")
    name = full_name(name)
    given = dict(map(parse_override, overrides))
    is_file = False
    layers: dict[str, Iterable[str]]
    if not name or is_env_name(name):
        if name and given.get("env", name) != name:
            raise ConfigError(f"two environments are given: '{name}' and env = {given['env']}")
        env, algorithm = given.get("env", name or DEFAULT_ENV), given.get("algorithm")
        values, layers = _env_settings(env, algorithm or DEFAULT_ALGORITHM, overlays, overrides)
    else:
        values = read_toml(config_path(name))
        layers = {f"{YOUR_FILE} {name}": flat_keys(values)}
        is_file = name not in preset_names()
        if not is_file:
            values, layers = _preset_settings(name, values, overlays, overrides)
    config, asked = _with_overlays(values, overlays, overrides, keeps_ignored=is_file)
    sizes = hardware_overrides(hardware, config.env, config.algorithm) if hardware else []
    if sizes:
        config, asked = _with_overlays(
            values, overlays, [*sizes, *overrides], keeps_ignored=is_file
        )
    if overlays and num_agents_of(config) == 1:
        raise ConfigError(
            f"overlay {overlays[0]} is for environments of many agents; {config.env} has one"
        )
    workers = getattr(config, "workers", None)
    if workers and (is_file or "workers.num_workers" in given):
        workers.check_cores(config.num_envs)  # a preset's number is one for larger machines, too
    layers |= {f"overlay {each}": _keys(overlay_overrides([each], asked)) for each in overlays}
    layers |= {f"hardware {hardware}": _keys(sizes)} if hardware else {}
    names_env = is_env_name(name) or "env" in given
    layers[YOU] = dict.fromkeys([*(["env"] if names_env else []), *flat_keys(given)])
    left = flat_keys(asked)
    neutral = {
        key: value for source, keys in layers.items() if is_default(source)
        for key, value in flat_keys(values).items() if key in keys and key in left
    }  # fmt: skip
    sources = _sources(layers, left)
    return Resolved(config, sources, changed_defaults(config, sources, neutral))


def _keys(overrides: Iterable[str]) -> list[str]:
    return [parse_override(each)[0] for each in overrides]


def _sources(layers: Mapping[str, Iterable[str]], left: Iterable[str]) -> Sources:
    """The keys of each layer that no later layer sets. Only those `left` have not been dropped."""
    source_of = {key: source for source, keys in layers.items() for key in keys}
    return {
        source: [key for key in keys if source_of[key] == source and (key in left or source == YOU)]
        for source, keys in layers.items()
    }


def load_config(
    source: str | None = None, overrides: Iterable[str] = (), hardware: str = ""
) -> TrainConfig:
    """The configuration alone; see `resolve`."""
    return resolve(source, overrides, hardware).config


def read_source(source: str) -> dict[str, Any]:
    """The values of a preset or a TOML file, or only the name of an environment. Raises
    ConfigError.
    """
    name = full_name(split_overlays(source)[0])
    return {"env": name} if is_env_name(name) else read_toml(config_path(name))


def is_env_name(source: str) -> bool:
    """Whether a source of settings is an environment, not a preset or a file."""
    return source in ALL_ENV_NAMES or (is_hosted(source) and not source.endswith(".toml"))


@cache
def _tuned_presets() -> dict[tuple[str, str], str]:
    """The preset of each environment and algorithm. Where there are several it is the one with the
    shortest name: `grid_ppo`, and neither `grid_ppo_fast` nor `grid_ppo_smoke`.
    """
    tuned = {}
    for name in sorted(preset_names(), key=len, reverse=True):
        values = read_toml(config_path(name))
        tuned[values["env"], values["algorithm"]] = name
    return tuned


def preset_hint(config: TrainConfig, sources: Sources) -> str:
    """A line that names the presets for the environment of a run with neutral defaults, or for
    operant's own version of it; empty if there are none.
    """
    if defaults_of(config.algorithm) not in sources:
        return ""
    for env, which in (
        (config.env, ""),
        (own_version(config.env), ", operant's own version of it"),
    ):
        presets = sorted(preset for (of, _), preset in _tuned_presets().items() if of == env)
        if presets:
            return f"tuned presets for {env}{which}: {', '.join(presets)}"
    return ""


def _env_settings(
    env: Any, algorithm: Any, overlays: Sequence[str], overrides: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Iterable[str]]]:
    """The settings of an environment and an algorithm, and their keys by source."""
    if preset := _tuned_presets().get((str(env), str(algorithm))):
        values = read_toml(config_path(preset))
        return values, {f"preset {preset}": flat_keys(values)}
    values = _neutral_settings({"env": env, "algorithm": algorithm}, overlays, overrides)
    return values, {defaults_of(algorithm): flat_keys(values)}


def _preset_settings(
    preset: str, values: dict[str, Any], overlays: Sequence[str], overrides: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Iterable[str]]]:
    """The settings of a preset, and their keys by source. Where the overrides name another
    algorithm, they are that algorithm's neutral defaults; where they name another environment, the
    preset's without the tables of its environment. Raises ConfigError where there is a preset for
    the other algorithm.
    """
    given = dict(map(parse_override, overrides))
    env, algorithm = given.get("env", values["env"]), given.get("algorithm", values["algorithm"])
    tables = env_sections(values["env"]).keys()
    if algorithm != values["algorithm"]:
        written_for = values["algorithm"]
        if other := _tuned_presets().get((str(env), str(algorithm))):
            raise ConfigError(
                f"algorithm = {algorithm}: the preset {preset} is written for {written_for}; "
                f"the one for {algorithm} is {other}"
            )
        kept = {key: values[key] for key in tables if key in values and env == values["env"]}
        neutral = {"env": env, "algorithm": algorithm, **kept}
        values, of_preset = _neutral_settings(neutral, overlays, overrides), flat_keys(kept)
        by_default = [key for key in flat_keys(values) if key not in of_preset]
        source = f"{defaults_of(algorithm)} (preset {preset} is for {written_for})"
        return values, {source: by_default, **({f"preset {preset}": of_preset} if kept else {})}
    if env == values["env"]:
        return values, {f"preset {preset}": flat_keys(values)}
    others = tables - env_sections(str(env)).keys()
    kept = {key: value for key, value in values.items() if key not in others}
    return kept, {f"preset {preset} (tuned for {values['env']}, not for {env})": flat_keys(kept)}


def _neutral_settings(
    values: dict[str, Any], overlays: Sequence[str], overrides: Sequence[str]
) -> dict[str, Any]:
    """The neutral defaults of the algorithm and the environment in `values`, which win over them.
    Raises ConfigError.
    """
    env, algorithm = values["env"], values["algorithm"]
    if env not in ALL_ENV_NAMES and not is_hosted(str(env)):
        return values
    table = base_algorithm(str(algorithm))
    if table not in NEUTRAL or env in LEARNED_ENV_NAMES:
        return values
    known = model_for(values).model_fields
    asked = dict(map(parse_override, [*overlay_overrides(overlays, known), *overrides]))
    is_fast = not is_hosted(env)
    if env == "marine_nav" and algorithm_sections()[table].action_kinds == ("Discrete",):
        values = {"marine_nav": {"actions": "discrete"}, **values}
    if shows_atari(env):
        values = {"preprocessing": {"protocol": "deepmind"}, **values}

    def filled(**found: Any) -> dict[str, Any]:
        filled = copy.deepcopy(values)
        for key, value in neutral_settings(table, asked, is_fast=is_fast, **found).items():
            _set(filled, key, value)
        return filled

    config, _ = _with_overlays(filled(), overlays, overrides)
    spec = spec_of(config)
    return filled(
        is_continuous=isinstance(spec.actions, Box),
        is_image=config.encoder in IMAGE_ENCODERS,
        scales_itself=config.encoder == PARTS,
        obs_bytes=spec.obs_size * np.dtype(obs_type(spec)).itemsize,
    )


def _with_overlays(
    values: dict[str, Any],
    overlays: Sequence[str],
    overrides: Sequence[str],
    keeps_ignored: bool = False,
) -> tuple[TrainConfig, dict[str, Any]]:
    """The configuration of `values`, overlays and overrides, and what it was made of. Values that
    the overrides leave without effect are dropped, unless `keeps_ignored`: nobody typed them.
    Raises ConfigError.
    """
    while True:
        try:
            return _all_together(values, overlays, overrides)
        except ConfigError as error:
            key = getattr(error.__cause__, "key", None)
            typed = dict(map(parse_override, overrides))
            if keeps_ignored or key in typed or key not in flat_keys(values):
                raise
            values = copy.deepcopy(values)
            _unset(values, key)


def _all_together(
    values: dict[str, Any], overlays: Sequence[str], overrides: Sequence[str]
) -> tuple[TrainConfig, dict[str, Any]]:
    """What is wrong only with the overlays, whose keys nobody typed, is said to be theirs."""
    asked = changed(values, overrides)
    if overlays:
        of_overlays = overlay_overrides(overlays, model_for(asked).model_fields)
        asked = changed(changed(values, of_overlays), overrides)
    try:
        return make_config(asked), asked
    except ConfigError as error:
        explained = error
        with suppress(ConfigError):
            make_config(values, overrides)  # raises the same error where there are no overlays
            explained = ConfigError(f"with +{'+'.join(overlays)}: {error}")
        raise explained from error.__cause__


def make_config(values: Mapping[str, Any], overrides: Iterable[str] = ()) -> TrainConfig:
    """The configuration with these values, `key=value` overrides on top, defaults for the rest.

    Raises ConfigError, from an IgnoredSettingError where a value would have no effect.
    """
    look_again()
    asked = changed(values, overrides)
    try:
        return model_for(asked).model_validate(asked)
    except ValidationError as error:
        first = error.errors()[0]
        cause = first.get("ctx", {}).get("error")
        is_ignored = isinstance(cause, IgnoredSettingError)
        raise ConfigError(_one_line(first, asked)) from (cause if is_ignored else None)


def changed(values: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """The values with `key=value` overrides on top. An interval in one unit, or a part of the time,
    takes the place of one in another unit that is not asked for as well; `none` takes away what a
    key need not have.
    """
    new, given = copy.deepcopy(dict(values)), dict(map(parse_override, overrides))
    for key, value in given.items():
        prefix, _, name = key.rpartition(".")
        if (value and name in UNITS) or name == "time_fraction":
            for unit in UNITS:
                if f"{prefix}.{unit}" not in given:
                    _unset(new, f"{prefix}.{unit}")
        _set(new, key, value)
    taken_away = {key for key, value in given.items() if value == "none"}
    if taken_away:
        defaults = {key: default for key, default, _ in _fields(model_for(new), "")}
        for key in taken_away:
            if defaults.get(key) == NO_VALUE:
                _unset(new, key)
    if isinstance(new.get("env"), str):
        new["env"] = full_name(new["env"])
    return new


def model_for(values: Mapping[str, Any]) -> type[TrainConfig]:
    """The model with the tables of the algorithm and the environment that `values` name."""
    algorithm, env = values.get("algorithm", DEFAULT_ALGORITHM), values.get("env", DEFAULT_ENV)
    return config_model(str(algorithm), str(env))


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESET_FOLDER.glob("*.toml"))


def parse_override(override: str) -> tuple[str, Any]:
    """`ppo.gamma=0.9` as key and value; the value is read as TOML, else as a number like `10M`,
    else taken as text.
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
        number = typed_number(value)
        if number is not None:
            typed = int(number) if number.is_integer() else number
    except (RecursionError, ValueError):  # too deep for Python, or a number of too many digits
        shown = one_line(f"{key} = {value}", MOST_SHOWN)
        raise ConfigError(f"{shown}: the value is too long") from None
    return key, full_name(typed) if key == "env" and isinstance(typed, str) else typed


def fields_with_defaults() -> Iterator[tuple[str, str, str]]:
    """Every key with its default as TOML and its description, in the order of the models; those of
    tables that not all runs have say which do.
    """
    yield from _fields(TrainConfig, "")
    for name, (setting, value) in owners_of_sections().items():
        for key, default, description in _fields(foreign_section(name), f"{name}."):
            yield key, default, f"{description} ({setting} = {value})"


def changed_defaults(
    config: TrainConfig, sources: Sources, neutral: Mapping[str, Any]
) -> dict[str, Any]:
    """The defaults of the keys that have another value in `config`, by their whole keys; "none"
    where a default is no value at all. `neutral` are defaults for the environment, which win.
    Where `sources` are known, a value that none of them has set counts as a default.
    """
    defaults = flat_keys(type(config).model_construct().model_dump(mode="json"))
    defaults |= {"algorithm": DEFAULT_ALGORITHM, "env": DEFAULT_ENV, **neutral}
    values = flat_keys(config.model_dump(mode="json"))
    given = {key for name, keys in sources.items() if not is_default(name) for key in keys}
    changed = [
        key for key, value in values.items()
        if value != defaults.get(key) and (key in given or not sources)
    ]  # fmt: skip
    return {key: "none" if defaults.get(key) is None else defaults[key] for key in changed}


def foreign_section(name: str) -> type[Section]:
    """The model of a table that not all runs have."""
    sections: dict[str, type[Section]] = {**algorithm_sections(), **shared_tables()}
    configured = (*CONFIGURED_ENV_NAMES, *LEARNED_ENV_NAMES, *FOREIGN_ENV_NAMES)
    for env in (*configured, MINATAR_ENV_NAMES[0], GYMNASIUM_PREFIX):
        sections |= env_sections(env)
    return sections[name]


def _fields(model: type[Section], prefix: str) -> Iterator[tuple[str, str, str]]:
    for name, info in model.model_fields.items():
        if isinstance(info.default, Section):
            yield from _fields(type(info.default), f"{prefix}{name}.")
        else:
            yield prefix + name, _toml(info.default), info.description or ""


def _toml(value: Any) -> str:
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(list(value)) if isinstance(value, tuple) else str(value)


def config_path(source: str) -> Path:
    """The file of a preset or a TOML file. Raises ConfigError where there is no such preset."""
    if source.endswith(".toml") or ("/" in source and Path(source).exists()):
        return Path(source)
    if source not in preset_names():
        hint = nearest_env(source, (*ALL_ENV_NAMES, *preset_names()), most=3)
        if "/" in source and not (is_id(source) or hint.endswith(f":{source}'?")):
            return Path(source)
        if source.endswith(".py"):
            module = Path(source).stem
            hint = f"; to train an environment of your own, write gymnasium:{module}:NAME"
        elif re.fullmatch(r"[\w.]+:\w+", source):
            hint = f"; for a function or a class of a module, write gymnasium:{source}"
        hint = hint or "; operant train --help-config lists all presets"
        raise ConfigError(f"no preset is called '{source}'{hint}")
    return PRESET_FOLDER / f"{source}.toml"


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    *tables, name = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(f"unknown key '{key}': '{table}' is not a table")
    values[name] = value


def _unset(values: dict[str, Any], key: str) -> None:
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
    """What pydantic found, in one line: the key, the value and the rule."""
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        if key in owners_of_sections():
            return _foreign_table(key, error["input"], values)
        known = [name for name, _, _ in _fields(model_for(values), "")]
        if isinstance(error["input"], dict) and error["input"]:  # no such table: what is in it
            key += f".{next(iter(error['input']))}"
        algorithm = str(values.get("algorithm", DEFAULT_ALGORITHM))
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
