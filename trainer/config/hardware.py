"""Overlays for hardware: sizes for an environment and an algorithm, and what must follow them."""

from __future__ import annotations

from ...shared.errors import ConfigError, nearest
from .flat_keys import flat_keys
from .toml_file import PRESET_FOLDER, read_toml
from .train_config import algorithm_sections

HARDWARE_FOLDER = PRESET_FOLDER / "hardware"


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
