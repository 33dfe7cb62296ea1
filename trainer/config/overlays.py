"""Overlays: settings for environments of many agents that go on top of a configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ... import configs
from ...shared.errors import ConfigError, nearest
from .flat_keys import flat_keys
from .toml_file import read_toml

OVERLAY_FOLDER = Path(configs.__file__).parent / "overlays"


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
