"""The package `mettagrid`, if a known version is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace

from ....shared.errors import ConfigError
from ....shared.install_command import install_command

KNOWN = "0.26"


def installed_version() -> str:
    """Raises ConfigError if mettagrid is missing or has another version."""
    try:
        found = version("mettagrid")
    except PackageNotFoundError:
        raise ConfigError(
            "mettagrid is not installed, and is for Python 3.11 and 3.12: "
            f"{install_command('mettagrid')}"
        ) from None
    if found.split(".")[:2] != KNOWN.split("."):
        install = install_command("mettagrid")
        raise ConfigError(f"mettagrid {found} is installed, but operant needs {KNOWN}: {install}")
    return found


def library() -> SimpleNamespace:
    """The parts of the package that operant uses. Raises ConfigError."""
    found = installed_version()
    try:
        from mettagrid.config import event_config, handler_config, mettagrid_config
        from mettagrid.config.mettagrid_c_config import (
            convert_to_cpp_game_config,
            rename_map_agents,
        )
        from mettagrid.config.query import query
        from mettagrid.config.reward_config import inventoryReward
        from mettagrid.mettagrid_c import MettaGrid
    except ImportError as error:
        raise ConfigError(f"mettagrid {found} cannot be imported: {error}") from None
    return SimpleNamespace(
        config=mettagrid_config,
        handlers=handler_config,
        events=event_config,
        query=query,
        inventory_reward=inventoryReward,
        converted=convert_to_cpp_game_config,
        with_agents=rename_map_agents,
        Simulation=MettaGrid,
        version=found,
    )
