"""Configurations from presets, TOML files and environments, and where each setting comes from."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...shared.errors import ConfigError, nearest
from ...shared.runs.setting_sources import (
    OVERLAY,
    YOU,
    YOUR_FILE,
    Sources,
    defaults_of,
    is_default,
)
from ..envs.hosts import find_host
from ..envs.names import ALL_ENV_NAMES, GYMNASIUM_PREFIX, own_version
from ..envs.spaces import MUJOCO, full_name, is_id
from ..spaces import Box
from ..spaces.encoders import IMAGE_ENCODERS, PARTS
from .defaults import NEUTRAL, neutral_settings
from .env_tables import env_sections
from .flat_keys import flat_keys
from .from_values import changed, make_config, model_for, number_in, parsed, set_value, unset_value
from .overlays import check_overlays, overlay_values
from .own_algorithms import base_algorithm, section_of
from .toml_file import PRESET_FOLDER, read_toml
from .train_config import (
    DEFAULT_ALGORITHM,
    DEFAULT_ENV,
    TrainConfig,
    algorithm_sections,
    nearest_env,
)

NAMES = ("env", "algorithm")
Layers = Mapping[str, Mapping[str, Any]]  # settings by whole keys, by their source


class Resolved(NamedTuple):
    """A configuration, and what `run.toml` keeps about it: the `sources` of its settings, and the
    `defaults` of the keys that have another value.
    """

    config: TrainConfig
    sources: Sources
    defaults: dict[str, Any]


def resolve(
    source: str | None = None, overrides: Iterable[str] = (), overlays: Sequence[str] = ()
) -> Resolved:
    """The configuration of `source`: an environment, a TOML file or a preset. The `overlays` go on
    top of it, and `key=value` overrides on top of them.

    All of it stands on the preset that a file extends, or on the one that is tuned for the
    environment and the algorithm, or else on the neutral defaults of the algorithm. The keys of a
    file are the same as overrides. Without a source, `env` is the environment.

    Raises ConfigError: one line that names the key or file, the value and what is allowed.
    """
    if source is not None and not source.strip():
        raise ConfigError(f"CONFIG = '{source}': expected an environment, a preset or a TOML file")
    begin, given = read_source(source or ""), parsed(overrides)
    if begin.env and given.get("env", begin.env) != begin.env:
        raise ConfigError(f"two environments are given: '{begin.env}' and env = {given['env']}")
    if begin.env or "env" in given:
        given = {"env": begin.env, **given}
    default = {"env": DEFAULT_ENV, "algorithm": DEFAULT_ALGORITHM}
    asked = changed({**default, **begin.values}, given)
    env, algorithm = asked["env"], asked["algorithm"]
    known = model_for({"env": env, "algorithm": algorithm}).model_fields
    files = {f"{YOUR_FILE} {name}": values for name, values in begin.files.items()}
    added = {
        f"{OVERLAY} {name}": overlay_values(name, str(env), str(algorithm), known)
        for name in overlays
    }
    upper: Layers = {**files, **added, YOU: given}
    base = _base(begin.preset, env, algorithm, upper)
    config, values = _made(base.values, upper)
    check_overlays(overlays, config)
    workers = getattr(config, "workers", None)
    if workers and any("workers.num_workers" in keys for keys in (given, *files.values())):
        workers.check_cores(config.num_envs)  # a preset's number is one for larger machines, too
    sources = _sources({base.source: base.keys, **upper}, flat_keys(values))
    return Resolved(config, sources, changed_defaults(config, sources, base.neutral))


def _sources(layers: Mapping[str, Iterable[str]], left: Iterable[str]) -> Sources:
    """The keys of each layer that no later layer sets. Only those `left` have not been dropped."""
    source_of = {key: source for source, keys in layers.items() for key in keys}
    return {
        source: [key for key in keys if source_of[key] == source and (key in left or source == YOU)]
        for source, keys in layers.items()
    }


def load_config(
    source: str | None = None, overrides: Iterable[str] = (), overlays: Sequence[str] = ()
) -> TrainConfig:
    """The configuration alone; see `resolve`."""
    return resolve(source, overrides, overlays).config


class Source(NamedTuple):
    """A CONFIG before anything stands below it or on top of it: the name of an environment, or the
    keys of `files`, by their paths, the last on top. They begin with a `preset` if one is named.
    """

    env: str = ""
    preset: str = ""
    files: Mapping[str, dict[str, Any]] = MappingProxyType({})

    @property
    def values(self) -> dict[str, Any]:
        """All that the preset and the files set."""
        values: dict[str, Any] = {"env": self.env} if self.env else {}
        if self.preset:
            values = read_toml(config_path(self.preset))
        for keys in self.files.values():
            values = changed(values, keys)
        return values


def read_source(source: str) -> Source:
    """The environment, the preset or the file `source`, with all that a file extends. Raises
    ConfigError.
    """
    name = full_name(source)
    if not name or is_env_name(name):
        return Source(env=name)
    path = config_path(name)
    return Source(preset=path.stem) if path.parent == PRESET_FOLDER else _read_file(path)


def _read_file(path: Path, extended_by: Sequence[Path] = ()) -> Source:
    """A file and those that it `extends`, by paths from its own folder. Raises ConfigError."""
    values = read_toml(path)
    extends = values.pop("extends", "")
    if not isinstance(extends, str):
        raise ConfigError(f"{path}: extends = {extends}: expected a preset or a TOML file")
    if path.resolve() in (other.resolve() for other in extended_by):
        raise ConfigError(f"{path}: a file cannot extend itself")
    below = Source(preset=extends)
    if extends.endswith(".toml"):
        below = _read_file(path.parent / extends, [*extended_by, path])
    elif extends and extends not in preset_names():
        hint = nearest(extends, preset_names())
        raise ConfigError(f"{path}: extends = '{extends}': no preset is called so{hint}")
    given = {key: number_in(value) for key, value in flat_keys(values).items()}
    return Source("", below.preset, {**below.files, str(path): given})


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


class _Base(NamedTuple):
    """The settings below all that somebody typed: `keys` are those of the `source` alone."""

    values: dict[str, Any]
    source: str
    keys: Collection[str]
    neutral: dict[str, Any]  # by whole keys: the neutral defaults


def _base(preset: str, env: Any, algorithm: Any, upper: Layers) -> _Base:
    """The settings that the `upper` ones stand on: of the `preset`, or of the one that is tuned for
    the environment and the algorithm, or the neutral defaults. Raises ConfigError.
    """
    preset = preset or _tuned_presets().get((_family(env), str(algorithm)), "")
    if not (preset and section_of(str(algorithm))):  # an unknown one is refused by its name
        neutral = _neutral_settings(env, algorithm, {}, upper)
        keys = flat_keys(neutral)
        return _Base(neutral, defaults_of(algorithm), keys, keys)
    own = read_toml(config_path(preset))
    if algorithm != own["algorithm"]:
        raise ConfigError(
            f"algorithm = {algorithm}: the preset {preset} is for {own['algorithm']}; to train "
            f"with {algorithm}, name the environment: {str(env).removeprefix(GYMNASIUM_PREFIX)}"
        )
    source = f"preset {preset}"
    if _family(env) != _family(own["env"]):
        source += f" (tuned for {own['env']}, not for {env})"
        foreign = env_sections(own["env"]).keys() - env_sections(str(env)).keys()
        own = {key: value for key, value in own.items() if key not in foreign}
    keys = {**flat_keys(own), "env": env}
    neutral = _neutral_settings(env, algorithm, keys, upper)
    return _Base(changed(neutral, keys), source, keys, flat_keys(neutral))


def _neutral_settings(
    env: Any, algorithm: Any, preset: Mapping[str, Any], upper: Layers
) -> dict[str, Any]:
    """The neutral defaults of the algorithm in the environment, for the sizes and the budget that
    the keys of the `preset` and the `upper` settings have. Raises ConfigError.
    """
    values = {"env": env, "algorithm": algorithm}
    host = find_host(str(env))
    table = base_algorithm(str(algorithm)) if host else ""
    if host is None or table not in NEUTRAL:
        return values
    if env == "marine_nav" and algorithm_sections()[table].action_kinds == ("Discrete",):
        values = {"marine_nav": {"actions": "discrete"}, **values}
    values = {**host.first_values(env), **values}
    asked = {key: keys[key] for keys in (preset, *upper.values()) for key in keys}

    def filled(**found: Any) -> dict[str, Any]:
        filled = copy.deepcopy(values)
        for key, value in neutral_settings(table, asked, is_fast=host.is_own, **found).items():
            set_value(filled, key, value)
        return filled

    config, _ = _made(changed(filled(), preset), upper)
    facts = config.facts()
    spec = facts.spec
    return filled(
        is_continuous=isinstance(spec.actions, Box),
        is_image=facts.encoder in IMAGE_ENCODERS,
        scales_itself=facts.encoder == PARTS,
        obs_bytes=spec.obs_size * np.dtype(spec.obs_type).itemsize,
    )


def _made(base: dict[str, Any], upper: Layers) -> tuple[TrainConfig, dict[str, Any]]:
    """The configuration of `base` and the `upper` settings, and what it was made of. Values of
    `base` that `upper` leaves without effect are dropped: nobody typed them. Raises ConfigError;
    an error that only overlays cause names them.
    """
    typed = {source: keys for source, keys in upper.items() if not source.startswith(OVERLAY)}
    while True:
        try:
            return _stacked(base, upper)
        except ConfigError as error:
            key = getattr(error.__cause__, "key", None)
            is_typed = any(key in keys for keys in typed.values())
            if key in flat_keys(base) and not is_typed:
                base = copy.deepcopy(base)
                unset_value(base, key)
                continue
            names = [s.removeprefix(f"{OVERLAY} ") for s in upper if s not in typed]
            explained = error
            if names:
                with suppress(ConfigError):
                    _made(base, typed)  # raises the same error where there are no overlays
                    explained = ConfigError(f"with {', '.join(names)}: {error}")
            raise explained from error.__cause__


def _stacked(base: Mapping[str, Any], upper: Layers) -> tuple[TrainConfig, dict[str, Any]]:
    values = dict(base)
    for keys in upper.values():  # all are for the environment and the algorithm of `base`
        values = changed(values, {key: value for key, value in keys.items() if key not in NAMES})
    return make_config(values), values


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
        name, plus, overlay = source.partition("+")
        if plus:
            hint = f"; for an overlay, write {name} --with {overlay}"
        elif source.endswith(".py"):
            module = Path(source).stem
            hint = f"; to train an environment of your own, write gymnasium:{module}:NAME"
        elif re.fullmatch(r"[\w.]+:\w+", source):
            hint = f"; for a function or a class of a module, write gymnasium:{source}"
        hint = hint or "; operant train --keys lists all presets"
        raise ConfigError(f"no preset or environment is called '{source}'{hint}")
    return PRESET_FOLDER / f"{source}.toml"
