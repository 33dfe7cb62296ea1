"""The tables that environments bring to a configuration, and which environments have them."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from ..envs.hosts import find_host
from ..envs.names import GYMNASIUM_PREFIX, MINATAR_ENV_NAMES
from ..settings.section import Section


class EnvTable(NamedTuple):
    """A table: where its model is, and the values of `env` that have it, as help shows them."""

    module: str
    model: str
    envs: str


HOSTED = "gymnasium:..., pettingzoo:..., native:..., envpool:..., mettagrid"
ENV_TABLES = {
    "grid": EnvTable("grid.section", "GridConfig", "grid"),
    "marine_nav": EnvTable("marine_nav.section", "MarineNavConfig", "marine_nav"),
    "tinyphysics": EnvTable("tinyphysics.sections", "TinyPhysicsConfig", "tinyphysics"),
    "cloning": EnvTable("tinyphysics.sections", "CloningConfig", "tinyphysics"),
    "minatar": EnvTable("minatar.section", "MinAtarConfig", ", ".join(MINATAR_ENV_NAMES)),
    "preprocessing": EnvTable(
        "preprocessing.section", "PreprocessingConfig", f"{GYMNASIUM_PREFIX}ID, envpool:ID"
    ),
    "workers": EnvTable("workers.section", "WorkersConfig", HOSTED),
    "gymnasium": EnvTable("gymnasium_section", "GymnasiumConfig", f"{GYMNASIUM_PREFIX}ID"),
    "mettagrid": EnvTable("mettagrid.section", "MettaGridConfig", "mettagrid"),
}


def env_table(name: str) -> type[Section]:
    """The model of the table `name`."""
    table = ENV_TABLES[name]
    package = __package__.rpartition(".")[0]
    model: type[Section] = getattr(import_module(f"{package}.envs.{table.module}"), table.model)
    return model


def env_sections(env: str) -> dict[str, type[Section]]:
    """The tables of an environment, by name; none for a name that is not an environment."""
    host = find_host(env)
    return {name: env_table(name) for name in (host.tables_of(env) if host else ())}
