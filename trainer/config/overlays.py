"""Overlays, settings that go on top of a configuration: for environments of many agents, and sizes
for hardware.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ...shared.errors import ConfigError, nearest
from .flat_keys import flat_keys
from .toml_file import PRESET_FOLDER, read_toml
from .train_config import algorithm_sections

OVERLAY_FOLDER = PRESET_FOLDER / "overlays"
HARDWARE_FOLDER = PRESET_FOLDER / "hardware"


def overlay_names() -> list[str]:
    return sorted(path.stem for path in OVERLAY_FOLDER.glob("*.toml"))


def split_overlays(source: str) -> tuple[str, list[str]]:
    """`mettagrid_ppo+fast` as a configuration and the overlays on it, the last on top. Raises
    ConfigError for one that there is not.
    """
    if "+" not in source or Path(source).exists():
        return source, []
    config, *names = source.split("+")
    for name in names:
        if name not in overlay_names():
            known = ", ".join(overlay_names())
            hint = nearest(name, overlay_names())
            raise ConfigError(f"no overlay is called '{name}'{hint}; there are {known}")
    return config, names


def overlay_overrides(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The values of overlays as `key=value`, those in tables that a configuration does not know
    left out: an environment that needs no workers has no `[workers]`.
    """
    known = set(known)
    return [
        f"{key}={json.dumps(value)}"
        for name in names
        for key, value in flat_keys(read_toml(OVERLAY_FOLDER / f"{name}.toml")).items()
        if key.split(".")[0] in known
    ]


def hardware_names() -> list[str]:
    return sorted(path.stem for path in HARDWARE_FOLDER.glob("*.toml"))


def hardware_overrides(name: str, env: str, algorithm: str) -> list[str]:
    """The overlay of some hardware for an environment and an algorithm, as `key=value`: sizes, and
    what must follow so that learning stays as good. One without tables leaves everything as it is.

    Raises ConfigError where there is none.
    """
    if name not in hardware_names():
        known = ", ".join(hardware_names())
        hint = nearest(name, hardware_names())
        raise ConfigError(f"no hardware is called '{name}'{hint}; there are {known}")
    tables = read_toml(HARDWARE_FOLDER / f"{name}.toml")
    if tables and env not in tables:
        known = ", ".join(tables)
        raise ConfigError(f"hardware {name} has sizes for {known} only, and env = {env}")
    tried = [key for key in tables.get(env, {}) if key in algorithm_sections()]
    if tables and algorithm not in tried:
        known = ", ".join(tried)
        raise ConfigError(
            f"hardware {name} has sizes for {known} only, and algorithm = {algorithm}"
        )
    return [f"{key}={value}" for key, value in flat_keys(tables.get(env, {})).items()]
