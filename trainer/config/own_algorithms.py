"""Algorithms of a user's own: `algorithm = "module:Class"`, a class derived from one of operant's.

Its settings are the table of that algorithm, such as `[dqn]`. A `section_class`, derived from the
table's model, adds keys.
"""

from __future__ import annotations

from typing import Any

from ...shared.errors import ConfigError
from ...shared.text.harmless import one_line
from ..settings.importing import imported
from ..settings.own_code import is_own, own_code
from ..settings.section import AlgorithmSection
from .sections import ALGORITHMS

PACKAGE = f"{__package__.rpartition('.')[0]}.algorithms"


def own_algorithm(name: str) -> type[Any]:
    """The class that `module:Class` or `own/Class` names. Raises ConfigError."""
    setting = f"algorithm = '{name}'"
    made: Any = own_code(name, setting, "algorithm", "set algorithm = MODULE:NAME")
    made = made or imported("algorithm", name)
    if not isinstance(made, type) or not _base(made):
        raise ConfigError(
            f"{setting}: it is {one_line(repr(made), 80)}, expected a class that is derived from "
            "one of operant.algorithms, as operant.algorithms.DQN"
        )
    return made


def base_algorithm(name: str) -> str:
    """The name of operant's algorithm that a user's class is derived from; another name as it is.
    The table with the algorithm's settings has that name. Raises ConfigError.
    """
    return _base(own_algorithm(name)) if is_own(name) else name


def section_of(name: str) -> type[AlgorithmSection] | None:
    """The model of that table; None if there is no such algorithm. Raises ConfigError."""
    if not is_own(name):
        entry = ALGORITHMS.get(name)
        return entry.section if entry else None
    of_base = ALGORITHMS[base_algorithm(name)].section
    section: Any = getattr(own_algorithm(name), "section_class", of_base)
    if not isinstance(section, type) or not issubclass(section, of_base):
        raise ConfigError(
            f"algorithm = '{name}': section_class is {one_line(repr(section), 80)}, expected a "
            f"class that is derived from operant.algorithms.{of_base.__name__}"
        )
    return section


def _base(made: type[Any]) -> str:
    """The algorithm of operant's that a class is derived from; empty where there is none."""
    places = (base.__module__.rpartition(".") for base in made.__mro__)
    names = (module for package, _, module in places if package == PACKAGE)
    return next((name for name in names if name in ALGORITHMS), "")
