"""Configurations from presets, TOML files and environments, and where each setting comes from."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...shared.errors import ConfigError
from ...shared.runs.setting_sources import YOU, YOUR_FILE, Sources, defaults_of, is_default
from ..envs.hosts import find_host
from ..envs.names import ALL_ENV_NAMES, own_version
from ..envs.spaces import MUJOCO, full_name, is_id
from ..spaces import Box
from ..spaces.encoders import IMAGE_ENCODERS, PARTS
from .defaults import NEUTRAL, neutral_settings
from .env_tables import env_sections
from .flat_keys import flat_keys
from .from_values import changed, make_config, model_for, parse_override, set_value, unset_value
from .overlays import hardware_overrides, overlay_overrides, split_overlays
from .own_algorithms import base_algorithm
from .toml_file import PRESET_FOLDER, read_toml
from .train_config import (
    DEFAULT_ALGORITHM,
    DEFAULT_ENV,
    TrainConfig,
    algorithm_sections,
    nearest_env,
)


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
    if overlays and config.num_agents == 1:
        raise ConfigError(
            f"overlay {overlays[0]} is for environments of many agents; {config.env} has one"
        )
    workers = getattr(config, "workers", None)
    if workers and (is_file or "workers.num_workers" in given):
        workers.check_cores(config.num_envs)  # a preset's number is one for larger machines, too
    layers |= {f"overlay {added}": _keys(overlay_overrides([added], asked)) for added in overlays}
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
    return [parse_override(override)[0] for override in overrides]


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
    return find_host(source) is not None and not source.endswith(".toml")


@cache
def _tuned_presets() -> dict[tuple[str, str], str]:
    """The preset of each environment and algorithm. Where there are several it is the one with the
    shortest name: `grid_ppo`, and neither `grid_ppo_fast` nor `grid_ppo_smoke`.
    """
    tuned = {}
    for name in sorted(preset_names(), key=len, reverse=True):
        values = read_toml(config_path(name))
        tuned[_family(values["env"]), values["algorithm"]] = name
    return tuned


def _family(env: Any) -> str:
    """The name that environments with a common preset share; for most it is their own."""
    return "MuJoCo" if MUJOCO.fullmatch(str(env)) else str(env)


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
        presets = sorted(
            preset for (of, _), preset in _tuned_presets().items() if of == _family(env)
        )
        if presets:
            return f"tuned presets for {env}{which}: {', '.join(presets)}"
    return ""


def _env_settings(
    env: Any, algorithm: Any, overlays: Sequence[str], overrides: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Iterable[str]]]:
    """The settings of an environment and an algorithm, and their keys by source."""
    if preset := _tuned_presets().get((_family(env), str(algorithm))):
        values = {**read_toml(config_path(preset)), "env": env}
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
        if other := _tuned_presets().get((_family(env), str(algorithm))):
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
    if _family(env) == _family(values["env"]):
        return {**values, "env": env}, {f"preset {preset}": flat_keys(values)}
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
    host = find_host(str(env))
    table = base_algorithm(str(algorithm)) if host else ""
    if host is None or table not in NEUTRAL or host.name == "tinyphysics":
        return values
    known = model_for(values).model_fields
    asked = dict(map(parse_override, [*overlay_overrides(overlays, known), *overrides]))
    if env == "marine_nav" and algorithm_sections()[table].action_kinds == ("Discrete",):
        values = {"marine_nav": {"actions": "discrete"}, **values}
    values = {**host.first_values(env), **values}

    def filled(**found: Any) -> dict[str, Any]:
        filled = copy.deepcopy(values)
        for key, value in neutral_settings(table, asked, is_fast=host.is_own, **found).items():
            set_value(filled, key, value)
        return filled

    config, _ = _with_overlays(filled(), overlays, overrides)
    facts = config.facts()
    spec = facts.spec
    return filled(
        is_continuous=isinstance(spec.actions, Box),
        is_image=facts.encoder in IMAGE_ENCODERS,
        scales_itself=facts.encoder == PARTS,
        obs_bytes=spec.obs_size * np.dtype(spec.obs_type).itemsize,
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
            unset_value(values, key)


def _all_together(
    values: dict[str, Any], overlays: Sequence[str], overrides: Sequence[str]
) -> tuple[TrainConfig, dict[str, Any]]:
    """Make the configuration; an error that only overlays cause names them."""
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


def preset_names() -> list[str]:
    return sorted(path.stem for path in PRESET_FOLDER.glob("*.toml"))


def changed_defaults(
    config: TrainConfig, sources: Sources, neutral: Mapping[str, Any]
) -> dict[str, Any]:
    """The defaults of the keys that have another value in `config`, by their whole keys; "none"
    where a default is no value at all. `neutral` are defaults for the environment, which win. A
    value that none of the `sources` has set counts as a default.
    """
    defaults = flat_keys(type(config).model_construct().model_dump(mode="json"))
    defaults |= {"algorithm": DEFAULT_ALGORITHM, "env": DEFAULT_ENV, **neutral}
    values = flat_keys(config.model_dump(mode="json"))
    given = {key for name, keys in sources.items() if not is_default(name) for key in keys}
    changed = [
        key for key, value in values.items() if key in given and value != defaults.get(key)
    ]  # fmt: skip
    return {key: "none" if defaults.get(key) is None else defaults[key] for key in changed}


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
        raise ConfigError(f"no preset or environment is called '{source}'{hint}")
    return PRESET_FOLDER / f"{source}.toml"
