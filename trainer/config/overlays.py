"""Overlays, settings that go on top of a configuration: for environments of many agents, and sizes
for hardware.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from ...shared.errors import ConfigError, nearest
from .flat_keys import flat_keys
from .toml_file import PRESET_FOLDER, read_toml
from .train_config import TrainConfig, algorithm_sections

OVERLAY_FOLDER = PRESET_FOLDER / "overlays"
HARDWARE_FOLDER = PRESET_FOLDER / "hardware"


def overlay_names() -> list[str]:
    return _names(OVERLAY_FOLDER)


def hardware_names() -> list[str]:
    return _names(HARDWARE_FOLDER)


def _names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def overlay_values(name: str, env: str, algorithm: str, known: Collection[str]) -> dict[str, Any]:
    """The values of an overlay by their whole keys, for an environment and an algorithm whose
    configuration knows some tables. Those of other tables are left out: an environment that needs
    no workers has no `[workers]`.

    Raises ConfigError where there is no such overlay, and for hardware without sizes for both.
    """
    if name in hardware_names():
        return _sizes(name, env, algorithm)
    if name not in overlay_names():
        there = [*overlay_names(), *hardware_names()]
        raise ConfigError(
            f"no overlay is called '{name}'{nearest(name, there)}; there are {', '.join(there)}"
        )
    values = flat_keys(read_toml(OVERLAY_FOLDER / f"{name}.toml"))
    return {key: value for key, value in values.items() if key.split(".")[0] in known}


def _sizes(name: str, env: str, algorithm: str) -> dict[str, Any]:
    """Sizes for some hardware, and what must follow so that learning stays as good. A file without
    tables leaves everything as it is.
    """
    tables = read_toml(HARDWARE_FOLDER / f"{name}.toml")
    if tables and env not in tables:
        known = ", ".join(tables)
        raise ConfigError(f"overlay {name} has sizes for {known} only, and env = {env}")
    tried = [key for key in tables.get(env, {}) if key in algorithm_sections()]
    if tables and algorithm not in tried:
        known = ", ".join(tried)
        raise ConfigError(f"overlay {name} has sizes for {known} only, and algorithm = {algorithm}")
    return flat_keys(tables.get(env, {}))


def check_overlays(names: Iterable[str], config: TrainConfig) -> None:
    """Raises ConfigError for an overlay of many agents where there is one agent."""
    for name in names:
        if name in overlay_names() and config.num_agents == 1:
            raise ConfigError(
                f"overlay {name} is for environments of many agents; {config.env} has one"
            )
